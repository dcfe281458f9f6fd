"""Every fault of analysis: one constructor each, a file per family of codes."""
