"""Facts about a program; nothing here changes it."""
