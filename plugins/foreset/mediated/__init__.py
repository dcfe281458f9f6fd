"""Views whose entries are constraints (paper 003): fixpoints with supports, and updates of the views themselves.

Pure and in memory; docs/adr/0090 says what differs from the paper, and why it comes to the same.
"""
