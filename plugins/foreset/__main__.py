"""`python -m foreset`, for where the script is not on the path."""

from foreset.cli import main

main()
