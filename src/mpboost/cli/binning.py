"""The command bin: make a dataset from a table. It imports what takes long when it runs."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpboost.cli.options import TABLE_KINDS, Drop, Force, Json, KeepAll, Quiet, Target, takes_reading_options
from mpboost.table_files.options import ReadingOptions

if TYPE_CHECKING:
    from mpboost.cli.dataset_building import Source
    from mpboost.cli.output import Output
    from mpboost.datasets.dataset import BinnedDataset


@takes_reading_options
def bin(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE",
            help=f"Table: {TABLE_KINDS}; several files, or a pattern in quotes, are read as one; - is standard input. "
            "Parquet files are read batch by batch; other files are read into memory.",
            show_default=False,
        ),
    ],
    target: Target = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Dataset to write; its name ends in .mpcols.")
    ] = Path("data.mpcols"),
    sample_weight: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column with the weights of rows.", show_default=False)
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Columns to use even if they are constant or look like identifiers. Repeatable. All columns of "
            "Parquet files are used, since their values are not looked at before: use --drop for identifiers.",
            show_default=False,
        ),
    ] = None,
    keep_all: KeepAll = False,
    drop: Drop = None,
    max_bins: Annotated[
        int | None, typer.Option(metavar="N", min=2, max=255, help="The most bins of a column.", show_default="255")
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Dataset or model whose columns, categories and bins are taken over: for rows to predict, or to "
            "judge a model by.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Bin a table into a dataset on disk that fit trains on. Parquet files may be larger than memory."""
    from mpboost.cli.dataset_building import MAX_BINS, Plan, choose_parquet_columns, open_like, read_source
    from mpboost.cli.dataset_files import SUFFIX, find_dataset
    from mpboost.cli.output import Output
    from mpboost.cli.training_set import choose_target_name
    from mpboost.cli.writing import check_writable
    from mpboost.table_files.parquet import open_parquet

    if like is not None:
        for option, value in {"--keep": keep, "--keep-all": keep_all, "--drop": drop, "--max-bins": max_bins}.items():
            if value:
                raise typer.BadParameter("--like takes over columns and bins, so it goes without.", param_hint=option)
    with Output(as_json=as_json, quiet=quiet) as out:
        if (dataset_path := find_dataset(tables)) is not None:
            raise ValueError(f"{dataset_path} is a dataset already: use mpboost fit {dataset_path}.")
        if like is None:
            target = choose_target_name(target, tables)
        check_writable(output, force, {SUFFIX})
        files = open_parquet(tables)
        known = None if like is None else open_like(like)
        plan = Plan(
            target=target,
            weights=sample_weight,
            keep=None if keep_all else keep or (),
            drop=drop or (),
            max_bins=max_bins or MAX_BINS,
            like=known,
        )
        source = read_source(tables, plan, reading, out) if files is None else choose_parquet_columns(files, plan)
        start = time.perf_counter()
        with out.progress() as is_shown:
            dataset = source.build(output, verbose=int(is_shown))
        _finish(dataset, source, output, time.perf_counter() - start, out)


def _finish(dataset: "BinnedDataset", source: "Source", output: Path, seconds: float, out: "Output") -> None:
    """Show the dataset that was made, and suggest the next commands."""
    from mpboost._wording import format_number, format_seconds
    from mpboost.cli.dataset_summary import describe_dataset, describe_target, list_dataset_rows, word_shape
    from mpboost.datasets.facts import read_facts

    facts, speed = read_facts(output), dataset.n_rows / max(seconds, 1e-9)
    out.title(output.name, word_shape(facts))
    rows = [
        ("made from", f"{source.name}: {source.description}"),
        ("took", f"{format_seconds(seconds)}, {format_number(speed)} rows a second"),
        *list_dataset_rows(facts, describe_target(facts)),
        *source.list_left_out(),
        *(("note" if i == 0 else "", note) for i, note in enumerate(source.notes)),
    ]
    out.rows([row for row in rows if row[1]])
    if facts.targets is None:
        out.say(f"Next:  mpboost predict MODEL {output} -o predictions.csv")
    else:
        out.say(f"Next:  mpboost fit {output}")
    out.record(
        dataset=str(output),
        **describe_dataset(facts),
        table=source.name,
        read_as=source.description,
        notes=source.notes,
        left_out=source.left_out,
        seconds=seconds,
    )
