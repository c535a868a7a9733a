"""The command line: ``mpboost``, or ``python -m mpboost``."""

import sys
from importlib.util import find_spec

#: Packages that commands need. They are only looked for here, since pyarrow takes long to import.
NEEDED = ("typer", "rich", "pyarrow")


def main() -> None:
    """Run the command-line application."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        sys.exit(f'The command line needs {missing[0]}: pip install "mpboost[cli]"')
    from mpboost.cli.app import app

    app()
