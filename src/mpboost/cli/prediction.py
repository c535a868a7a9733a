"""The command predict: apply a model to a table."""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from sklearn.base import is_classifier

from mpboost._wording import count, format_share
from mpboost.cli.features import make_model_features, parse_column_names
from mpboost.cli.model_summary import get_target_name, open_model
from mpboost.cli.options import Force, Json, ModelPath, Quiet, Tables, takes_reading_options
from mpboost.cli.output import Output, draw_bar
from mpboost.cli.reading import read_for_model
from mpboost.cli.tables import WRITERS, check_writable, format_csv, write_table
from mpboost.estimators.base import MinipatchBooster
from mpboost.table_files.options import ReadingOptions

STDOUT = Path("-")


@takes_reading_options
def predict(
    model: ModelPath,
    tables: Tables,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: .csv, .tsv, .parquet, .arrow; - is standard output (CSV)."),
    ] = Path("predictions.csv"),
    columns: Annotated[
        list[str] | None, typer.Option(help="Columns of the table to copy to the output.", show_default=False)
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Predict the target for the rows of a table."""
    if as_json and output == STDOUT:
        raise typer.BadParameter(
            "with --json, predictions cannot go to standard output: give a file name.", param_hint="--output"
        )
    with Output(as_json=as_json, quiet=quiet, to_stderr=output == STDOUT) as out:
        if output != STDOUT:
            check_writable(output, force, WRITERS)
        fitted = open_model(model)
        data = read_for_model(tables, fitted, reading, out)
        chosen = parse_column_names(columns or [], data)
        predictions = predict_table(fitted, make_model_features(data, fitted))
        if both := set(chosen) & set(predictions.column_names):
            raise ValueError(f"Column {both.pop()!r} of {data.name} has the name of an output column: rename it.")
        result = pa.table(
            {name: data.table[name] for name in chosen} | {n: predictions[n] for n in predictions.column_names}
        )
        if output == STDOUT:
            sys.stdout.write(format_csv(result).decode())
        else:
            write_table(result, output, force=force)
        show_predictions(fitted, predictions, output, out)
        out.record(model=str(model), table=data.name, output=str(output), columns=result.column_names)


def predict_table(model: MinipatchBooster, X: pa.Table | NDArray[Any]) -> pa.Table:
    """Predict rows: a column of predictions, and a column of probabilities per class."""
    if not is_classifier(model):
        return pa.table({"prediction": model.predict(X)})
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else np.empty((len(X), 0))
    names = [f"probability:{label}" for label in model.classes_]
    return pa.table({"prediction": model.predict(X)} | dict(zip(names, probabilities.T, strict=False)))


def show_predictions(model: MinipatchBooster, predictions: pa.Table, output: Path, out: Output) -> None:
    """Summarise predictions: counts of classes, or quartiles of numbers."""
    values = predictions["prediction"].to_numpy()
    place = "standard output" if output == STDOUT else str(output)
    target = get_target_name(model) or "the target"
    out.title("Predictions", f"of {target} for {count(len(values), 'row')}, written to {place}")
    if is_classifier(model):
        labels, counts = np.unique(values, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:10]
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
        out.rows({name: f"{value:g}" for name, value in zip(names, quartiles, strict=True)})
        out.record(rows=len(values), quartiles=quartiles)
