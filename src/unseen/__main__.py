"""`python -m unseen` is the command line."""

from unseen.cli import main

main()
