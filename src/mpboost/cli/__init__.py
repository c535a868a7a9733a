"""The command line: ``mpboost``, or ``python -m mpboost``."""

import sys


def main() -> None:
    """Run the command-line application."""
    try:
        import pyarrow  # noqa: F401
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.exit(f'The command line needs {error.name}: pip install "mpboost[cli]"')
    from mpboost.cli.app import app

    app()
