"""Which strategy, and why; the frozen plan of one refresh."""
