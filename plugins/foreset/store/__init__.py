"""How views are kept and published: signed rows in Delta tables, and a manifest that pins them all at once."""
