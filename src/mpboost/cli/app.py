"""The command-line application: all commands, and the options of ``mpboost`` itself."""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import mpboost

#: The module of each command, and its line in the help. A module is imported when its command is used.
COMMANDS = {
    "fit": ("training", "Train a model on a table and save it. Ctrl-C stops training and keeps the model so far."),
    "bin": (
        "binning",
        "Bin a table into a dataset on disk that fit trains on. Parquet files may be larger than memory.",
    ),
    "predict": ("prediction", "Predict the target for the rows of a table."),
    "evaluate": (
        "evaluation",
        "Judge a model by a table with the target: scores, how sure they are, and its mistakes.",
    ),
    "report": (
        "inspecting",
        "Write an HTML report about a model and its training table, or new data, as a single file for your browser.",
    ),
    "info": ("information", "Show what is in a model file or a dataset."),
    "issues": ("inspecting", "List the rows of the training table whose labels are suspect."),
    "export": ("exporting", "Write a model as ONNX, C or treelite, for programs without mpboost."),
    "tune": ("training", "Try several parameter values and save the best model. Out-of-patch scores decide."),
}

SUMMARY = "Minipatch boosting: train models on tables, inspect them, and predict."


class LazyCommand(TyperCommand):
    """A command whose module is imported when the command runs or shows its own help."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Import the command, and let it read its arguments."""
        return self._load().make_context(*arguments, **options)

    def _load(self) -> Any:
        assert self.name is not None
        module, _ = COMMANDS[self.name]
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(self.name)(getattr(import_module(f"mpboost.cli.{module}"), self.name))
        command = typer.main.get_command(alone)
        for parameter in command.params:
            if parameter.param_type_name == "argument":  # typer would show the type of Python
                parameter.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]
        return command


class LazyGroup(TyperGroup):
    """All commands, none of them imported yet."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.commands = {name: LazyCommand(name, help=words) for name, (_, words) in COMMANDS.items()}


app = typer.Typer(
    name="mpboost",
    cls=LazyGroup,
    help=SUMMARY,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help, without boxes: quick, and easy to read in a pipe
    context_settings={"default_map": {"help": False}},  # otherwise typer imports pydantic to learn this
)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"mpboost {mpboost.__version__}")
        raise typer.Exit


@app.callback(help=SUMMARY, epilog="Exit codes: 0 success, 1 problem with a file or data, 2 wrong usage.")
def _set_up(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...
