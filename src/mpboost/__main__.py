"""Runs the command line: ``python -m mpboost``."""

from mpboost.cli import main

if __name__ == "__main__":
    main()
