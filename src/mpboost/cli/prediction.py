"""The command predict: apply a model to a table. Functions import what takes long, so that help is quick."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpboost.cli.options import Force, Json, ModelPath, Quiet, TablesOrDataset, takes_reading_options
from mpboost.table_files.options import ReadingOptions

if TYPE_CHECKING:
    from mpboost.cli.output import Output
    from mpboost.cli.prediction_rows import PredictionRows
    from mpboost.cli.prediction_summary import Tally
    from mpboost.estimators.base import MinipatchBooster

#: Rows that are predicted and written at a time.
BATCH_ROWS = 1 << 15

STDOUT = Path("-")


@takes_reading_options
def predict(
    model: ModelPath,
    tables: TablesOrDataset,
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
    from mpboost.cli.model_summary import open_model
    from mpboost.cli.output import Output
    from mpboost.cli.prediction_rows import open_rows
    from mpboost.cli.prediction_summary import show_predictions
    from mpboost.cli.writing import WRITERS, check_writable

    if as_json and output == STDOUT:
        raise typer.BadParameter(
            "with --json, predictions cannot go to standard output: give a file name.", param_hint="--output"
        )
    with Output(as_json=as_json, quiet=quiet, to_stderr=output == STDOUT) as out:
        if output != STDOUT:
            check_writable(output, force, WRITERS)
        fitted = open_model(model)
        rows = open_rows(tables, fitted, reading, columns or [], out)
        names = [*rows.copied.names, *name_predictions(fitted)]
        if both := set(rows.copied.names) & set(name_predictions(fitted)):
            raise ValueError(f"Column {both.pop()!r} of {rows.name} has the name of an output column: rename it.")
        tally = write_predictions(fitted, rows, output, force, out)
        show_predictions(tally, output, out)
        out.record(model=str(model), table=rows.name, output=str(output), columns=names)


def name_predictions(model: "MinipatchBooster") -> list[str]:
    """Name the columns of predictions: the prediction, and the probability of each class."""
    return ["prediction", *(f"probability:{label}" for label in getattr(model, "classes_", ()))]


def write_predictions(
    model: "MinipatchBooster", rows: "PredictionRows", output: Path, force: bool, out: "Output"
) -> "Tally":
    """Predict rows with all processors, write predictions and copied columns batch by batch, and add them up."""
    import pyarrow as pa

    from mpboost.cli.prediction_summary import Tally
    from mpboost.cli.writing import open_table
    from mpboost.data.targets import spread_targets

    kind = pa.array(model.classes_).type if hasattr(model, "classes_") else pa.float64()
    kinds = [kind] + [pa.float64()] * (len(name_predictions(model)) - 1)
    schema = pa.schema([*rows.copied, *zip(name_predictions(model), kinds, strict=True)])
    model, tally, warned = model.set_params(n_jobs=-1), Tally(model, rows.n_rows), SharedWarnings()
    with open_table(output, schema, force=force) as write, out.progress_bar("Predicting", rows.n_rows) as move:
        for X, copied, y in rows:
            start = 0
            with warned.collect():
                for batch in model._predict_in_batches(X, BATCH_ROWS):
                    now = slice(start, start + len(batch.values))
                    probabilities = () if batch.probabilities is None else batch.probabilities.T
                    columns = [*copied.slice(start, len(batch.values)).columns, batch.values, *probabilities]
                    write(pa.table(columns, schema=schema))
                    tally.add(batch.values, None if y is None else spread_targets(y[now]))
                    move(len(batch.values))
                    start = now.stop
    warned.repeat()
    return tally


class SharedWarnings:
    """Collects the warnings of pieces of a table, and repeats in the end those that all pieces have given.

    A piece may have no category that occurred in training, say; it matters if the whole table has none.
    """

    def __init__(self) -> None:
        self._shared: dict[str, type[Warning]] | None = None

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Collect the warnings of a piece."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        known = self._shared
        found = {str(each.message): each.category for each in caught}
        self._shared = {words: kind for words, kind in found.items() if known is None or words in known}

    def repeat(self) -> None:
        """Give the warnings that all pieces have given."""
        for words, kind in (self._shared or {}).items():
            warnings.warn(words, kind, stacklevel=2)
