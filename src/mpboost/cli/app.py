"""The command-line application: all commands, and the options of ``mpboost`` itself."""

from typing import Annotated

import typer

import mpboost
from mpboost.cli.evaluation import evaluate
from mpboost.cli.inspecting import info, issues, report
from mpboost.cli.prediction import predict
from mpboost.cli.training import fit, tune

app = typer.Typer(
    name="mpboost",
    help="Minipatch boosting: train models on tables, inspect them, and predict.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (fit, predict, evaluate, report, info, issues, tune):
    app.command()(command)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"mpboost {mpboost.__version__}")
        raise typer.Exit


@app.callback(epilog="Exit codes: 0 success, 1 problem with a file or data, 2 wrong usage.")
def _set_up(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Minipatch boosting: train models on tables, inspect them, and predict."""
