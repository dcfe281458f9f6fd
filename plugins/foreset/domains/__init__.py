"""Outside sources: who answers calls of domains, within which limits, and where answers are kept."""
