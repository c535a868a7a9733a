"""The command predict: apply a model to a table. Functions import what takes long, so that help is quick."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpboost.cli.options import Force, Json, ModelPath, Quiet, Tables, takes_reading_options
from mpboost.table_files.options import ReadingOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from mpboost.cli.output import Output
    from mpboost.estimators.base import MinipatchBooster

#: Rows that are predicted and written at a time.
BATCH_ROWS = 1 << 15

#: Classes that are shown, the most frequent first.
MAX_SHOWN_CLASSES = 10

STDOUT = Path("-")


@takes_reading_options
def predict(
    model: ModelPath,
    tables: Tables,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .csv, .tsv, .parquet, .arrow; - is standard output (CSV).",
        ),
    ] = Path("predictions.csv"),
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Columns of the table to copy to the output. Repeatable.", show_default=False
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Predict the target for the rows of a table."""
    from mpboost.cli.features import make_model_features, parse_column_names
    from mpboost.cli.judgements import offer_score
    from mpboost.cli.model_summary import open_model
    from mpboost.cli.output import Output
    from mpboost.cli.reading import read_for_model
    from mpboost.cli.writing import WRITERS, check_writable

    if as_json and output == STDOUT:
        raise typer.BadParameter(
            "with --json, predictions cannot go to standard output: give a file name.", param_hint="--output"
        )
    with Output(as_json=as_json, quiet=quiet, to_stderr=output == STDOUT) as out:
        if output != STDOUT:
            check_writable(output, force, WRITERS)
        fitted = open_model(model)
        data = read_for_model(tables, fitted, reading, out)
        copied = data.written.select(parse_column_names(columns or [], data))
        if both := set(copied.column_names) & set(name_predictions(fitted)):
            raise ValueError(f"Column {both.pop()!r} of {data.name} has the name of an output column: rename it.")
        values = write_predictions(fitted, make_model_features(data, fitted), copied, output, force, out)
        show_predictions(fitted, values, output, out)
        if (score := offer_score(fitted, data, values)) is not None:
            out.say(score)
        names = [*copied.column_names, *name_predictions(fitted)]
        out.record(model=str(model), table=data.name, output=str(output), columns=names)


def name_predictions(model: "MinipatchBooster") -> list[str]:
    """Name the columns of predictions: the prediction, and the probability of each class."""
    return ["prediction", *(f"probability:{label}" for label in getattr(model, "classes_", ()))]


def write_predictions(
    model: "MinipatchBooster",
    X: "pa.Table | NDArray[Any]",
    copied: "pa.Table",
    output: Path,
    force: bool,
    out: "Output",
) -> "NDArray[Any]":
    """Predict rows with all processors, write predictions and copied columns batch by batch, return predictions."""
    import numpy as np
    import pyarrow as pa

    from mpboost.cli.writing import open_table

    kind = pa.array(model.classes_).type if hasattr(model, "classes_") else pa.float64()
    kinds = [kind] + [pa.float64()] * (len(name_predictions(model)) - 1)
    schema = pa.schema([*copied.schema, *zip(name_predictions(model), kinds, strict=True)])
    values, n_written = [], 0
    with open_table(output, schema, force=force) as write, out.progress_bar("Predicting", len(X)) as move:
        for batch in model.set_params(n_jobs=-1)._predict_in_batches(X, BATCH_ROWS):
            n_rows = len(batch.values)
            probabilities = () if batch.probabilities is None else batch.probabilities.T
            columns = [*copied.slice(n_written, n_rows).columns, batch.values, *probabilities]
            write(pa.table(columns, schema=schema))
            values.append(batch.values)
            n_written += n_rows
            move(n_rows)
    return np.concatenate(values)


def show_predictions(model: "MinipatchBooster", values: "NDArray[Any]", output: Path, out: "Output") -> None:
    """Summarise predictions: counts of classes, or quartiles of numbers."""
    import numpy as np

    from mpboost._wording import count, format_number, format_share
    from mpboost.cli.model_summary import get_target_name
    from mpboost.cli.output import draw_bar

    place = "standard output" if output == STDOUT else str(output)
    target = get_target_name(model) or "the target"
    out.title("Predictions", f"of {target} for {count(len(values), 'row')}, written to {place}")
    if hasattr(model, "classes_"):
        labels, counts = np.unique(values, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MAX_SHOWN_CLASSES]
        shares = counts / len(values)
        out.table(
            {
                "class": labels[order].tolist(),
                "rows": counts[order].tolist(),
                "share": [format_share(shares[i]) for i in order],
                "": [draw_bar(shares[i]) for i in order],
            },
            right=("rows", "share"),
        )
        out.record(rows=len(values), counts=dict(zip(labels.tolist(), counts.tolist(), strict=True)))
    else:
        quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
        names = ("minimum", "lower quartile", "median", "upper quartile", "maximum")
        out.rows({name: format_number(value) for name, value in zip(names, quartiles, strict=True)})
        out.record(rows=len(values), quartiles=quartiles)
