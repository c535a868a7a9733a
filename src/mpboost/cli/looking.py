"""Commands that look at a model beside a table: report and issues."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from sklearn.base import is_classifier

import mpboost
from mpboost.cli.features import choose_names, find_text_columns, recall_features
from mpboost.cli.models import get_target_name, list_features, open_model
from mpboost.cli.options import Force, Json, KnownTarget, ModelPath, Quiet, TablePath
from mpboost.cli.output import Output
from mpboost.cli.tables import WRITERS, check_writable, read_table, write_table
from mpboost.cli.targets import as_labels, read_target
from mpboost.cli.wording import count
from mpboost.inspection.judgement import decode_targets
from mpboost.inspection.label_issues import find_label_issues

#: Features that are shown beside suspect labels.
FEW_FEATURES = 3

#: Suspect labels that are shown.
MANY_ROWS = 30


def report(
    model: ModelPath,
    table: TablePath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("report.html"),
    target: KnownTarget = None,
    title: Annotated[str | None, typer.Option(help="What to call the page.", show_default=False)] = None,
    image_shape: Annotated[
        str | None,
        typer.Option(metavar="ROWSxCOLUMNS", help="If features are pixels: show rows as images.", show_default=False),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a page that shows what a model learned from a table: one file, to be opened in a browser."""
    shape = _parse_shape(image_shape)
    with Output(as_json=as_json, quiet=quiet) as out:
        check_writable(output, force, {".html", ".htm"})
        fitted = open_model(model)
        data, y, target = read_labelled(table, fitted, target)
        check_trained_on(fitted, y, table)
        X = recall_features(data, fitted, table)
        title = title or f"{target} in {table.name}"
        page = mpboost.report(fitted, X, y, title=title, image_shape=shape)
        page.save(output, force=force)
        out.title("Report", f"of {model.name} on {count(len(y), 'row')}")
        out.rows({"open": output.absolute()})
        out.know(model=str(model), table=str(table), target=target, rows=len(y), report=str(output))


def issues(
    model: ModelPath,
    table: TablePath,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write them: .csv, .tsv, .parquet, .arrow.", show_default=False),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, help="So many, suspect or not, unless all suspect ones.", show_default=False),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to show beside them, unless the most useful ones.", show_default=False),
    ] = None,
    target: KnownTarget = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the rows of the training table whose labels are probably wrong."""
    with Output(as_json=as_json, quiet=quiet) as out:
        if output is not None:
            check_writable(output, force, WRITERS)
        fitted = open_model(model)
        data, y, target = read_labelled(table, fitted, target)
        check_trained_on(fitted, y, table)
        found = find_label_issues(fitted, n=n)
        chosen = choose_names(columns, data, table) if columns else _choose_columns(fitted, data)
        suspects = _tabulate(found, data, chosen)
        if output is not None:
            write_table(suspects, output)
        _show_suspects(suspects, len(y), target, out)
        out.know(model=str(model), table=str(table), target=target, rows=len(y), issues=suspects.to_pylist())


def read_labelled(path: Path, model: Any, target: str | None) -> tuple[pa.Table, NDArray[Any], str]:
    """Read a table with what is right."""
    target = target or get_target_name(model)
    if target is None:
        raise typer.BadParameter("the model file does not know what its target is called.", param_hint="--target")
    table = read_table(path, as_text=find_text_columns(model) | ({target} if _has_words(model) else set()))
    y = read_target(table, target, path)
    if not is_classifier(model):
        if y.dtype.kind not in "iuf":
            raise ValueError(f"The target {target!r} of {path} holds words, but the model predicts numbers.")
        return table, y, target
    y = as_labels(y)
    if unknown := sorted(set(y.tolist()) - set(model.classes_.tolist()), key=str):
        raise ValueError(f"The target {target!r} of {path} has classes that the model does not know: {unknown[:5]}.")
    return table, y, target


def check_trained_on(model: Any, y: NDArray[Any], path: Path) -> None:
    """Check that a table is the one that a model was trained on, as far as its labels tell."""
    known = decode_targets(model, model._targets)
    if len(known) != len(y) or not np.array_equal(known, y):
        raise ValueError(
            f"{path} is not the table that the model was trained on ({count(len(known), 'row')}), or its target "
            "has changed: give the same table again."
        )


def _parse_shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    rows, _, columns = text.lower().partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise typer.BadParameter(f"{text!r} is no shape such as 8x8.", param_hint="--image-shape")
    return int(rows), int(columns)


def _has_words(model: Any) -> bool:
    return is_classifier(model) and isinstance(model.classes_[0], str)


def _choose_columns(model: Any, table: pa.Table) -> list[str]:
    names = (name if name in table.column_names else name.rpartition(":")[0] for name, _ in list_features(model))
    return [name for name in dict.fromkeys(names) if name in table.column_names][:FEW_FEATURES]


def _tabulate(found: Any, table: pa.Table, columns: list[str]) -> pa.Table:
    """Put suspect labels, and columns of their rows, side by side."""
    rows = table.select(columns).take(pa.array(found.row))
    added = {name: pa.array(found[name]) for name in ("row", "difficulty", "given", "suggested")}
    return pa.table(added | {name: rows[name] for name in columns if name not in added})


def _show_suspects(suspects: pa.Table, n_rows: int, target: str, out: Output) -> None:
    share = f"{suspects.num_rows} of {count(n_rows, 'row')}"
    out.title("Suspect labels", f"{share}, by the trees that never saw them; rows are counted from 0")
    if not suspects.num_rows:
        return
    shown = suspects.slice(0, MANY_ROWS).rename_columns(
        [{"given": f"{target}, as given", "suggested": "rather"}.get(name, name) for name in suspects.column_names]
    )
    columns = {name: [_format(value) for value in shown[name].to_pylist()] for name in shown.column_names}
    columns["difficulty"] = [f"{value:.2f}" for value in shown["difficulty"].to_pylist()]
    out.table(columns, right=("row", "difficulty"))
    if suspects.num_rows > MANY_ROWS:
        out.say(f"… and {suspects.num_rows - MANY_ROWS} more: -o writes all of them.")


def _format(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
