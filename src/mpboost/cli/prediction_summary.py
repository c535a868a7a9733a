"""What is told about predictions when all rows are predicted: counts or quartiles, and the score."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._wording import count, format_number, format_share
from mpboost.cli.model_summary import get_target_name
from mpboost.cli.output import Output, draw_bar
from mpboost.cli.writing import STDOUT
from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.judgement import decode_targets

#: Classes that are shown, the most frequent first.
MAX_SHOWN_CLASSES = 10


class Tally:
    """Adds up predictions, batch by batch: classes are counted, and only predicted numbers are kept.

    Parameters
    ----------
    model : fitted model
        The model that predicts.
    n_rows : int
        Number of all rows.

    Attributes
    ----------
    n_rows : int
        Number of rows so far.
    counts : dict
        Number of rows of each predicted class; empty for numbers.
    """

    def __init__(self, model: MinipatchBooster, n_rows: int):
        self.model = model
        self.n_rows = 0
        self.counts: dict[Any, int] = {}
        self._values = np.empty(0 if hasattr(model, "classes_") else n_rows)
        self._has_target = True  # so far
        self._is_training = hasattr(model, "_targets")  # so far
        self._n_right = 0
        self._mean, self._spread, self._error = 0.0, 0.0, 0.0  # of targets that are numbers; squares of deviations

    def add(self, values: NDArray[Any], y: NDArray[Any] | None) -> None:
        """Add the predictions of some rows, and their targets if all of these are known."""
        rows = slice(self.n_rows, self.n_rows + len(values))
        self._has_target &= y is not None
        if hasattr(self.model, "classes_"):
            for label, n_rows in zip(*(each.tolist() for each in np.unique(values, return_counts=True)), strict=True):
                self.counts[label] = self.counts.get(label, 0) + n_rows
        else:
            self._values[rows] = values
        if y is not None and self._has_target:
            if hasattr(self.model, "classes_"):
                self._n_right += int(np.count_nonzero(y == values))
            else:
                self._add_numbers(values, y.astype(np.float64))
            if self._is_training:
                self._is_training = np.array_equal(decode_targets(self.model, self.model._targets[rows]), y)
        self.n_rows += len(values)

    def _add_numbers(self, values: NDArray[Any], y: NDArray[np.float64]) -> None:
        """Add targets and residuals to the running mean and sums of squares (Chan, Golub and LeVeque, 1983)."""
        mean, share = float(y.mean()), len(y) / (self.n_rows + len(y))
        self._spread += float(((y - mean) ** 2).sum()) + (mean - self._mean) ** 2 * self.n_rows * share
        self._mean += (mean - self._mean) * share
        self._error += float(((y - values) ** 2).sum())

    def count_classes(self) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the predicted classes, in the order of the model, and their numbers of rows."""
        labels = [label for label in self.model.classes_.tolist() if label in self.counts]
        return labels, np.array([self.counts[label] for label in labels])

    def compute_quartiles(self) -> NDArray[np.float64]:
        """Return the minimum, the quartiles and the maximum of predicted numbers, whose order gets lost."""
        values = self._values[: self.n_rows]
        return np.quantile(values, [0, 0.25, 0.5, 0.75, 1], overwrite_input=True)

    def word_score(self) -> str | None:
        """Tell the score if the target of all rows is known; otherwise None.

        The words are one sentence, such as "The table has the target churned: accuracy 86.1 %; mpboost evaluate shows
        more."
        """
        if not self._has_target or not self.n_rows:
            return None
        if hasattr(self.model, "classes_"):
            score = f"accuracy {format_share(self._n_right / self.n_rows)}"
        else:
            score = f"R² {1 - self._error / self._spread if self._spread else float(self._error == 0):.3f}"
        is_training = self._is_training and self.n_rows == len(self.model._targets)
        note = ", too good since it is the training table" if is_training else ""
        target = get_target_name(self.model)
        return f"The table has the target {target}: {score}{note}; mpboost evaluate shows more."


def show_predictions(tally: Tally, output: Path, out: Output) -> None:
    """Summarise predictions: counts of classes, or quartiles of numbers; and the score, if it is known."""
    place = "standard output" if output == STDOUT else str(output)
    target = get_target_name(tally.model) or "the target"
    out.title("Predictions", f"of {target} for {count(tally.n_rows, 'row')}, written to {place}")
    if hasattr(tally.model, "classes_"):
        labels, counts = tally.count_classes()
        order = np.argsort(-counts, kind="stable")[:MAX_SHOWN_CLASSES]
        shares = counts / tally.n_rows
        out.table(
            {
                "class": [labels[i] for i in order],
                "rows": counts[order].tolist(),
                "share": [format_share(shares[i]) for i in order],
                "": [draw_bar(shares[i]) for i in order],
            },
            right=("rows", "share"),
        )
        out.record(rows=tally.n_rows, counts=dict(zip(labels, counts.tolist(), strict=True)))
    else:
        quartiles = tally.compute_quartiles()
        names = ("minimum", "lower quartile", "median", "upper quartile", "maximum")
        out.rows({name: format_number(value) for name, value in zip(names, quartiles, strict=True)})
        out.record(rows=tally.n_rows, quartiles=quartiles)
    if (score := tally.word_score()) is not None:
        out.say(score)
