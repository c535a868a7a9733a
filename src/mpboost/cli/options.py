"""Arguments and options that several commands share."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from mpboost.table_files.options import ReadingOptions

TABLE_KINDS = "CSV or other text with separators (also compressed), Parquet, Arrow, .xlsx, .ods, .npz"

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE",
        help=f"Table: {TABLE_KINDS}; several files, or a pattern in quotes, are read as one; - is standard input.",
        show_default=False,
    ),
]
TablesOrDataset = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE",
        help=f"Table: {TABLE_KINDS}; several files, or a pattern in quotes, are read as one; - is standard input. Or "
        "a dataset written by bin (.mpcols).",
        show_default=False,
    ),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="NAME",
        help="Column to predict; not needed for .npz and datasets.",
        show_default=False,
    ),
]
KnownTarget = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="NAME", help="Target column, if its name differs from training.", show_default=False
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Columns to use even if they are constant or look like identifiers. Repeatable.",
        show_default=False,
    ),
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="Use every column that has usable values.")]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Columns not to use. Repeatable.", show_default=False)
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the estimator. Repeatable.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON to standard output, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


#: Options that say how a table is written, in place of what is found out.
READING_OPTIONS: dict[str, Any] = {
    "sep": Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Separator of cells, or 'tab'.", show_default="found out")
    ],
    "decimal": Annotated[
        str | None, typer.Option(metavar="MARK", help="Decimal mark: . or a comma.", show_default="found out")
    ],
    "encoding": Annotated[
        str | None, typer.Option(metavar="NAME", help="Such as utf-8 or cp1252.", show_default="found out")
    ],
    "dates": Annotated[
        str | None,
        typer.Option(
            metavar="ORDER",
            help="dmy: 3/9/2017 is in September; mdy: in March; words: leave dates as text.",
            show_default="found out",
        ),
    ],
    "header": Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first row has the names of the columns.", show_default="found out"
        ),
    ],
    "missing": Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="One more word that means a missing value. Repeatable.", show_default=False),
    ],
    "sheet": Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of a workbook.", show_default="the first one")
    ],
}


def list_reading_options(reading: ReadingOptions) -> list[str]:
    """List the options that were given about how a table is written, as on the command line."""
    return [f"--{name}" for name in READING_OPTIONS if getattr(reading, name) not in (None, ())]


def takes_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how a table is written; it gets them as its argument ``reading``."""

    @wraps(command)
    def wrapped(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name) for name in READING_OPTIONS}
        chosen["missing"] = tuple(chosen["missing"] or ())
        try:
            reading = ReadingOptions(**chosen, write=write_flag)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        command(**arguments, reading=reading)

    own = inspect.signature(command, eval_str=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=None, annotation=option) for name, option in READING_OPTIONS.items()
    ]
    kept = [each.replace(kind=keyword) for each in own.parameters.values() if each.name != "reading"]
    wrapped.__signature__ = own.replace(parameters=kept + added)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in kept + added}
    return wrapped


def write_flag(name: str, value: str | bool) -> str:
    """Write an option as on the command line, for messages.

    Examples
    --------
    >>> write_flag("dates", "dmy"), write_flag("header", True)
    ('--dates dmy', '--header')
    """
    return f"--{name}" if value is True else f"--{name} {value}"
