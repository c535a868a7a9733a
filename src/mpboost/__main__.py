"""``python -m mpboost`` is the command line."""

from mpboost.cli import main

if __name__ == "__main__":
    main()
