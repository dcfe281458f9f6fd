"""A reader of plans and steps that writes text."""
