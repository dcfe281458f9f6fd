"""From YAML text to a `Program`, with all faults at once."""
