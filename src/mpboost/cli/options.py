"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

TABLE_KINDS = ".csv, .tsv (.gz too), .parquet, .arrow, .feather or .npz"

TablePath = Annotated[Path, typer.Argument(metavar="TABLE", help=f"A table: {TABLE_KINDS}.", show_default=False)]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as fit writes it.", show_default=False)]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The column to predict; y of an .npz.", show_default=False),
]
KnownTarget = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The column with what is right, unless as in training.", show_default=False),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Columns to take although they look like identifiers or are constant.", show_default=False),
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="Take all columns that can be taken.")]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out.", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the estimator. Repeatable.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Write over files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Write one JSON document to standard output, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")]
