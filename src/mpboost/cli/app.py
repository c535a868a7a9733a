"""The commands, put together."""

from typing import Annotated

import typer

import mpboost
from mpboost.cli.looking import issues, report
from mpboost.cli.models import info
from mpboost.cli.prediction import predict
from mpboost.cli.training import fit, tune

app = typer.Typer(
    name="mpboost",
    help="Minipatch boosting: from a table to a model, a report and predictions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (fit, predict, report, info, issues, tune):
    app.command()(command)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"mpboost {mpboost.__version__}")
        raise typer.Exit


@app.callback(epilog="Exit codes: 0 all went well, 1 files or data are not as they should be, 2 wrong usage.")
def _set_up(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Minipatch boosting: from a table to a model, a report and predictions."""
