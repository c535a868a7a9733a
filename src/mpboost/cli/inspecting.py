"""The commands report and issues: show what a model learned. They import what takes long when they run."""

from pathlib import Path
from typing import Annotated

import typer

from mpboost.cli.options import Force, Json, KnownTarget, ModelPath, Quiet, Tables, takes_reading_options
from mpboost.table_files.options import ReadingOptions


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
    from mpboost._wording import count
    from mpboost.cli.features import make_model_features
    from mpboost.cli.model_summary import open_model
    from mpboost.cli.output import Output
    from mpboost.cli.reading import read_labelled_table
    from mpboost.cli.writing import check_writable
    from mpboost.reporting.page import report as make_report

    shape = _parse_shape(image_shape)
    with Output(as_json=as_json, quiet=quiet) as out:
        check_writable(output, force, {".html", ".htm"})
        fitted = open_model(model)
        data, y, target = read_labelled_table(tables, fitted, reading, out, target)
        X = make_model_features(data, fitted)
        title = title or f"{target} in {Path(data.name).name}"
        page = make_report(fitted, X, y, title=title, image_shape=shape)
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
    from sklearn.base import is_classifier

    from mpboost.cli.features import parse_column_names
    from mpboost.cli.model_summary import open_model
    from mpboost.cli.output import Output
    from mpboost.cli.reading import read_labelled_table
    from mpboost.cli.suspect_labels import check_trained_on, choose_columns, show_issues, tabulate_issues
    from mpboost.cli.writing import WRITERS, check_writable, write_table
    from mpboost.inspection.label_issues import estimate_label_noise, find_label_issues

    with Output(as_json=as_json, quiet=quiet) as out:
        if output is not None:
            check_writable(output, force, WRITERS)
        fitted = open_model(model)
        data, y, target = read_labelled_table(tables, fitted, reading, out, target)
        check_trained_on(fitted, y, data.name)
        found = find_label_issues(fitted, n=n)
        names = data.table.column_names
        chosen = parse_column_names(columns, names, data.name) if columns else choose_columns(fitted, data.table)
        suspects = tabulate_issues(found, data.table, chosen)
        if output is not None:
            write_table(suspects, output, force=force)
        noise = estimate_label_noise(fitted) if is_classifier(fitted) else None
        show_issues(suspects, len(y), target, noise, out)
        out.record(
            model=str(model),
            table=data.name,
            target=target,
            rows=len(y),
            label_noise=noise,
            issues=suspects.to_pylist(),
        )


def _parse_shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    rows, _, columns = text.lower().partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise typer.BadParameter(f"expected a shape such as 8x8, got {text!r}.", param_hint="--image-shape")
    return int(rows), int(columns)
