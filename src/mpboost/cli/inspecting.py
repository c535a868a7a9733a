"""The commands report and issues: show what a model learned."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import Bunch

import mpboost
from mpboost._wording import count, format_share
from mpboost.cli.features import make_model_features, parse_column_names
from mpboost.cli.model_summary import list_features, open_model
from mpboost.cli.options import Force, Json, KnownTarget, ModelPath, Quiet, Tables, takes_reading_options
from mpboost.cli.output import Output
from mpboost.cli.reading import read_labelled_table
from mpboost.cli.writing import WRITERS, check_writable, write_table
from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.judgement import decode_targets
from mpboost.inspection.label_issues import estimate_label_noise, find_label_issues
from mpboost.table_files.options import ReadingOptions

#: Columns that are shown beside suspect labels by default.
MAX_SHOWN_COLUMNS = 3

#: Suspect labels that are shown on the terminal.
MAX_SHOWN_ROWS = 30


@takes_reading_options
def report(
    model: ModelPath,
    tables: Tables,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")] = Path(
        "report.html"
    ),
    target: KnownTarget = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the report.", show_default=False)] = None,
    image_shape: Annotated[
        str | None,
        typer.Option(metavar="ROWSxCOLUMNS", help="Show rows as images, if features are pixels.", show_default=False),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Write an HTML report about a model and its training table, or new data, as a single file for your browser."""
    shape = _parse_shape(image_shape)
    with Output(as_json=as_json, quiet=quiet) as out:
        check_writable(output, force, {".html", ".htm"})
        fitted = open_model(model)
        data, y, target = read_labelled_table(tables, fitted, reading, out, target)
        X = make_model_features(data, fitted)
        title = title or f"{target} in {Path(data.name).name}"
        page = mpboost.report(fitted, X, y, title=title, image_shape=shape)
        page.save(output, force=force)
        is_training = page.dict()["about"]["is_training"]
        kind = "of the training table" if is_training else "of new data"
        out.title("Report", f"of {model.name} on {count(len(y), 'row')} {kind}")
        out.rows({"open": output.absolute()})
        out.record(
            model=str(model),
            table=data.name,
            target=target,
            rows=len(y),
            is_training=is_training,
            report=str(output),
        )


@takes_reading_options
def issues(
    model: ModelPath,
    tables: Tables,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write the rows to a file: .csv, .tsv, .parquet, .arrow.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            metavar="N",
            min=1,
            help="List the N most suspect rows; default: all that are probably wrong.",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Columns to show; default: the most useful features. Repeatable.", show_default=False
        ),
    ] = None,
    target: KnownTarget = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """List the rows of the training table whose labels are suspect."""
    with Output(as_json=as_json, quiet=quiet) as out:
        if output is not None:
            check_writable(output, force, WRITERS)
        fitted = open_model(model)
        data, y, target = read_labelled_table(tables, fitted, reading, out, target)
        check_trained_on(fitted, y, data.name)
        found = find_label_issues(fitted, n=n)
        chosen = parse_column_names(columns, data) if columns else _choose_columns(fitted, data.table)
        suspects = _tabulate(found, data.table, chosen)
        if output is not None:
            write_table(suspects, output, force=force)
        noise = estimate_label_noise(fitted) if is_classifier(fitted) else None
        _show_issues(suspects, len(y), target, noise, out)
        out.record(
            model=str(model),
            table=data.name,
            target=target,
            rows=len(y),
            label_noise=noise,
            issues=suspects.to_pylist(),
        )


def check_trained_on(model: MinipatchBooster, y: NDArray[Any], name: str) -> None:
    """Check by its labels that a table is the one that the model was trained on."""
    known = decode_targets(model, model._targets)
    if len(known) != len(y) or not np.array_equal(known, y):
        raise ValueError(
            f"{name} is not the table that the model was trained on ({count(len(known), 'row')}), or its target has "
            "changed since. Suspect labels are found among training rows: use the training table. For new data, use "
            "mpboost evaluate, or mpboost report, which lists the hardest rows."
        )


def _parse_shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    rows, _, columns = text.lower().partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise typer.BadParameter(f"expected a shape such as 8x8, got {text!r}.", param_hint="--image-shape")
    return int(rows), int(columns)


def _choose_columns(model: MinipatchBooster, table: pa.Table) -> list[str]:
    names = (name if name in table.column_names else name.rpartition(":")[0] for name, _ in list_features(model))
    return [name for name in dict.fromkeys(names) if name in table.column_names][:MAX_SHOWN_COLUMNS]


def _tabulate(found: Bunch, table: pa.Table, columns: list[str]) -> pa.Table:
    """Make a table of the label issues and the given columns of their rows."""
    rows = table.select(columns).take(pa.array(found.row))
    added = {name: pa.array(found[name]) for name in ("row", "difficulty", "given", "suggested")}
    return pa.table(added | {name: rows[name] for name in columns if name not in added})


def _show_issues(suspects: pa.Table, n_rows: int, target: str, noise: float | None, out: Output) -> None:
    share = f"{suspects.num_rows} of {count(n_rows, 'row')}"
    out.title("Suspect labels", f"{share}, judged by trees not trained on them; rows are counted from 0")
    if suspects.num_rows:
        _tabulate_issues(suspects, target, out)
    if noise is not None:
        out.say(
            f"At most about {format_share(noise)} of the labels are wrong: so many disagree with the surest "
            "predictions. Where labels are noisy by nature it is less, or none."
        )


def _tabulate_issues(suspects: pa.Table, target: str, out: Output) -> None:
    shown = suspects.slice(0, MAX_SHOWN_ROWS).rename_columns(
        [
            {"given": f"{target} given", "suggested": f"{target} suggested"}.get(name, name)
            for name in suspects.column_names
        ]
    )
    columns = {name: [_format(value) for value in shown[name].to_pylist()] for name in shown.column_names}
    columns["difficulty"] = [f"{value:.2f}" for value in shown["difficulty"].to_pylist()]
    out.table(columns, right=("row", "difficulty"))
    if suspects.num_rows > MAX_SHOWN_ROWS:
        out.say(f"… and {suspects.num_rows - MAX_SHOWN_ROWS} more: use -o to write all of them to a file.")


def _format(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
