"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

TABLE_KINDS = ".csv, .tsv (.gz too), .parquet, .arrow, .feather or .npz"

TablePath = Annotated[Path, typer.Argument(metavar="TABLE", help=f"Table: {TABLE_KINDS}.", show_default=False)]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="NAME", help="Column to predict; not needed for .npz.", show_default=False),
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
