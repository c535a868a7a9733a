"""Judge a model by a table: its scores, how sure they are, and what the out-of-patch predictions promised."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.checks import check_model
from mpboost.inspection.confusion import ConfusionCounts, count_confusion
from mpboost.inspection.judgement import Judgement, judge, judge_table
from mpboost.outputs.intervals import estimate_interval
from mpboost.outputs.metrics import Metric, name_scoring
from mpboost.outputs.predictions import CachedPredictions, Predictions
from mpboost.outputs.score_names import DEFAULT_OF_NUMBERS

#: Out-of-patch scores are computed from at most so many probabilities; if there are more, from a sample of the rows.
MAX_CELLS = 2_000_000
#: With more classes there is no confusion matrix in ``to_dict``; number of the most frequent mistakes to list.
MAX_CLASSES, N_MISTAKES = 40, 12
#: With fewer rows, it is not said whether a score differs from the out-of-patch score.
MIN_ROWS = 30
#: The quantiles of residuals, and their names.
QUARTILES = {"least": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "most": 1.0}

Verdict = Literal["worse", "as expected", "better"]
Interval = tuple[float, float]


@dataclass(frozen=True)
class _Measure:
    """A score that is shown: its name, its title, and the names of its metric for two classes or numbers, and more."""

    name: str
    title: str
    metric: str
    metric_of_many: str = ""


OF_CLASSES = (
    _Measure("accuracy", "accuracy", "accuracy"),
    _Measure("balanced_accuracy", "balanced accuracy", "balanced_accuracy"),
    _Measure("log_loss", "log loss", "neg_log_loss"),
    _Measure("roc_auc", "ROC AUC", "roc_auc", "roc_auc_ovr"),
    _Measure("average_precision", "average precision", "average_precision", "average_precision_ovr"),
    _Measure("brier_score", "Brier score", "neg_brier_score"),
)
OF_NUMBERS = (
    _Measure("r2", "R²", "r2"),
    _Measure("mean_absolute_error", "mean absolute error", "neg_mean_absolute_error"),
    _Measure("root_mean_squared_error", "root mean squared error", "neg_root_mean_squared_error"),
)


@dataclass(frozen=True)
class Score:
    """A score of a model on some rows, beside the same score from out-of-patch predictions.

    Attributes
    ----------
    name, title : str
        Name for programs, such as "roc_auc", and for people, such as "ROC AUC".
    value : float or None
        The score; losses are positive numbers. None if it is not defined for these rows.
    interval : (float, float) or None
        Its 95 % confidence interval; None if there are too few rows.
    oop_value, oop_interval : float or None, (float, float) or None
        The same from out-of-patch predictions, if the model has them.
    is_loss : bool
        Whether smaller is better.
    reason : str
        Why there is no value; empty if there is one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(random_state=0).fit(X[:400], y[:400])
    >>> score = evaluate(model, X[400:], y[400:]).scores["roc_auc"]
    >>> score.title, score.interval[0] < score.value < score.interval[1], score.is_loss
    ('ROC AUC', True, False)
    """

    name: str
    title: str
    value: float | None
    interval: Interval | None
    oop_value: float | None
    oop_interval: Interval | None
    is_loss: bool
    reason: str = ""

    def format(self) -> tuple[str, str, str, str]:
        """Return the value, its interval, the out-of-patch value and its interval as text."""
        sizes = [abs(each) for each in (self.value, self.oop_value) if each]
        # Losses have any size: three digits that count. Of the others, some are near 1.
        digits = min(8, max(0, 2 - int(np.floor(np.log10(max(sizes)))))) if self.is_loss and sizes else 4

        def write(value: float | None, interval: Interval | None) -> tuple[str, str]:
            places = digits if self.is_loss else 3
            ends = "" if interval is None else " to ".join(f"{end:,.{places}f}" for end in interval)
            return "-" if value is None else f"{value:,.{digits}f}", ends

        return *write(self.value, self.interval), *write(self.oop_value, self.oop_interval)

    def to_dict(self) -> dict[str, Any]:
        """Return the score in types that JSON has."""
        return {
            "title": self.title,
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "oop_value": self.oop_value,
            "oop_interval": None if self.oop_interval is None else list(self.oop_interval),
            "smaller_is_better": self.is_loss,
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How good a model is on the rows of a table, as returned by ``evaluate``.

    Attributes
    ----------
    scores : dict of str to Score
        The scores by name; ``scores["accuracy"].value`` is one. Each has a 95 % interval and, where the model has
        them, the value and interval from out-of-patch predictions of the training rows.
    main : str
        Name of the score that the model was trained by.
    is_training : bool
        Whether the table is the training table: then the scores are too good, and only the out-of-patch values count.
    n_rows : int
        Number of rows; those of weight 0 do not count.
    model_name : str
        Class of the model.
    classes : array of shape (n_classes,) or None
        The classes; None for numbers.
    confusion : ConfusionCounts or None
        Which classes are predicted for which; ``confusion.to_matrix()`` is the confusion matrix. None for numbers.
    residuals, oop_residuals : dict of str to float, or None
        Quartiles of given minus predicted number, here and out of patch; None for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, evaluate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(random_state=0).fit(X[:400], y[:400])
    >>> evaluation = evaluate(model, X[400:], y[400:])
    >>> evaluation.main, evaluation.n_rows, evaluation.confusion.to_matrix().shape
    ('accuracy', 169, (2, 2))
    """

    scores: dict[str, Score]
    main: str
    is_training: bool
    n_rows: int
    model_name: str
    classes: NDArray[Any] | None
    confusion: ConfusionCounts | None
    residuals: dict[str, float] | None
    oop_residuals: dict[str, float] | None

    @property
    def verdict(self) -> Verdict | None:
        """Whether the main score is clearly "worse" or "better" than out of patch, or "as expected".

        None on the training table, for fewer than 30 rows, and without both scores and their intervals.
        """
        return None if self.is_training else judge_difference(self.scores[self.main], self.n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, in types that JSON has.

        Returns
        -------
        content : dict
            The scores and counts; the confusion matrix only for up to 40 classes.
        """
        classes, confusion = self.classes, self.confusion
        content: dict[str, Any] = {
            "model": self.model_name,
            "rows": self.n_rows,
            "is_training": self.is_training,
            "main_score": self.main,
            "verdict": self.verdict,
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
        }
        if classes is None or confusion is None:
            return content | {"residuals": self.residuals, "oop_residuals": self.oop_residuals}
        labels = [make_plain_label(label) for label in classes]
        return content | {
            "classes": labels,
            "confusion": confusion.to_matrix().tolist() if len(labels) <= MAX_CLASSES else None,
            "mistakes": [
                {"given": labels[given], "predicted": labels[predicted], "rows": count}
                for given, predicted, count in confusion.rank_mistakes(N_MISTAKES)
            ],
        }

    def __repr__(self) -> str:
        score = self.scores[self.main]
        known = "unknown" if score.value is None else f"{score.value:.4g}"
        return f"Evaluation({self._describe_rows()}, {score.title} {known})"

    def __str__(self) -> str:
        lines = [f"{self.model_name} on {self._describe_rows()}", *_align(_tabulate(self.scores.values()))]
        if self.is_training:
            lines.append("These are the training rows: their scores are too good, the out-of-patch ones are honest.")
        return "\n".join(lines)

    def _describe_rows(self) -> str:
        kind = "training" if self.is_training else "new"
        return f"{self.n_rows} {kind} row{'' if self.n_rows == 1 else 's'}"


def evaluate(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Evaluation:
    """Judge a fitted model by a table: scores with 95 % intervals, beside those of out-of-patch predictions.

    The model predicts the rows once. For new rows, the scores say how good the model is there; they should agree with
    the out-of-patch scores, which estimate them from the training rows. On the training table itself scores are too
    good, and the result says that it is the training table.

    Parameters
    ----------
    model : estimator of mpboost
        A fitted or loaded model.
    X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
        Rows to predict: new ones, or the training table.
    y : array-like of shape (n_samples,), default=None
        Their labels, which the model must know, or numbers; None for those of a dataset.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the scores. Rows of weight 0 are ignored.

    Returns
    -------
    evaluation : Evaluation
        ``print`` it for a table; ``scores`` holds the numbers, ``to_dict`` returns all of it.

    See Also
    --------
    report : An HTML page about a model, on the same rows.

    Notes
    -----
    All scores are those of scikit-learn's scorers, except that losses are positive. For more than two classes, ROC AUC
    and average precision are means over the classes, each against the rest. The table counts as the training table if
    its targets are those of training in the same order (and, for models that vote, if the votes agree).

    Out-of-patch scores other than the one that the model was trained by do not count the sample weights of the fit,
    which models do not keep.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> import mpboost
    >>> X, X_new, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = mpboost.MPBoostClassifier(random_state=0).fit(X, y)
    >>> evaluation = mpboost.evaluate(model, X_new, y_new)
    >>> evaluation
    Evaluation(143 new rows, accuracy 0.972)
    >>> low, high = evaluation.scores["roc_auc"].interval
    >>> bool(0.97 < low < evaluation.scores["roc_auc"].value < high)
    True
    >>> evaluation.verdict
    'as expected'
    """
    check_model(model)
    return evaluate_judgement(model, judge_table(model, X, y, sample_weight), judge(model))


def evaluate_judgement(model: MinipatchBooster, judgement: Judgement, oop: Judgement | None) -> Evaluation:
    """Make the evaluation of judged rows, beside the out-of-patch predictions, if there are any."""
    classes: NDArray[Any] | None = getattr(model, "classes_", None)
    return Evaluation(
        compute_scores(model, judgement, oop),
        choose_main(model),
        judgement.is_training,
        len(judgement.rows),
        type(model).__name__,
        classes,
        None if classes is None else count_confusion(judgement, len(classes)),
        None if classes is not None else _compute_quartiles(judgement),
        None if classes is not None or oop is None else _compute_quartiles(oop),
    )


def compute_scores(model: MinipatchBooster, judgement: Judgement | None, oop: Judgement | None) -> dict[str, Score]:
    """Compute the scores of judged rows, of the out-of-patch predictions, or of both."""
    classes: NDArray[Any] | None = getattr(model, "classes_", None)
    measures = _list_measures(model)
    n_most = MAX_CELLS // (1 if classes is None else len(classes))
    own = {} if judgement is None else _compute_scores(measures, judgement, classes)
    out_of_patch = {} if oop is None else _compute_scores(measures, oop.sample(n_most), classes)
    scores = {}
    for measure in measures:
        value, interval, reason = own.get(measure.name, (None, None, ""))
        oop_value, oop_interval, oop_reason = out_of_patch.get(measure.name, (None, None, ""))
        is_loss = measure.metric.startswith("neg_")
        if oop is not None and _is_main(model, measure):  # the fit knows it better: weights, corrected votes
            oop_value = _to_shown(model.oop_score_, is_loss)
            oop_interval = _to_shown_interval(model.oop_interval_, is_loss)
        scores[measure.name] = Score(
            measure.name,
            measure.title,
            value,
            interval,
            oop_value,
            oop_interval,
            is_loss,
            reason if judgement is not None else oop_reason,
        )
    return scores


def choose_main(model: MinipatchBooster) -> str:
    """Return the name of the score that the model was trained by; if that one is unknown here, the first score."""
    measures = _list_measures(model)
    return next((each.name for each in measures if _is_main(model, each)), measures[0].name)


def judge_difference(score: Score, n_rows: int) -> Verdict | None:
    """Tell whether a score of so many rows is clearly worse or better than out of patch; None if that is unknown."""
    if n_rows < MIN_ROWS:  # intervals of so few rows are rough
        return None
    if score.value is None or score.oop_value is None or score.interval is None or score.oop_interval is None:
        return None
    # Half the length of an interval is two standard errors.
    widths = np.diff([score.interval, score.oop_interval])[:, 0] / 2.0
    difference = (score.value - score.oop_value) * (-1.0 if score.is_loss else 1.0)
    if abs(difference) <= float(np.hypot(*widths)):
        return "as expected"
    return "better" if difference > 0 else "worse"


def make_plain_label(label: Any) -> Any:
    """Convert a label to a type that JSON has."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, str | int | float) else str(plain)


def _list_measures(model: MinipatchBooster) -> list[_Measure]:
    """List the scores to compute; a metric that the user chose for the fit comes last, if it is known."""
    measures = [*(OF_CLASSES if hasattr(model, "classes_") else OF_NUMBERS)]
    known = {name for each in measures for name in (each.metric, each.metric_of_many)}
    name = model.score_name_
    if name in known or not isinstance(model.scoring, str) or name_scoring(model.scoring) != name:
        return measures
    plain = name.removeprefix("neg_")
    return [*measures, _Measure(plain, plain.replace("_", " "), name)]


def _is_main(model: MinipatchBooster, measure: _Measure) -> bool:
    is_many = len(getattr(model, "classes_", ())) > 2
    return model.score_name_ == (measure.metric_of_many if is_many and measure.metric_of_many else measure.metric)


def _compute_scores(
    measures: Sequence[_Measure], judgement: Judgement, classes: NDArray[Any] | None
) -> dict[str, tuple[float | None, Interval | None, str]]:
    """Compute the value, the interval and the reason for no value of each score."""
    given, weights = judgement.given, judgement.weights
    predictions = CachedPredictions(judgement.take(np.arange(len(given))))
    scores: dict[str, tuple[float | None, Interval | None, str]] = {}
    for measure in measures:
        reason = _explain_absence(measure, given, classes)
        if reason:
            scores[measure.name] = None, None, reason
            continue
        name = measure.metric if classes is None or len(classes) == 2 else measure.metric_of_many or measure.metric
        scores[measure.name] = *_compute_score(Metric(name, classes), predictions, given, weights), ""
    return scores


def _compute_score(
    metric: Metric, predictions: Predictions, given: NDArray[Any], weights: NDArray[np.float64] | None
) -> tuple[float | None, Interval | None]:
    is_loss = metric.name.startswith("neg_")
    score = metric.compute(predictions, given, weights)
    interval = estimate_interval(metric, score, predictions, given, weights)
    return _to_shown(score, is_loss), _to_shown_interval(interval, is_loss)


def _explain_absence(measure: _Measure, given: NDArray[Any], classes: NDArray[Any] | None) -> str:
    """Explain why a score is not defined for these rows; empty if it is."""
    if classes is None:
        has_spread = len(given) > 1 and given.min() < given.max()
        return "" if has_spread or measure.metric != DEFAULT_OF_NUMBERS else "needs targets that differ"
    if not measure.metric_of_many:
        return ""
    absent = np.flatnonzero(np.bincount(given, minlength=len(classes)) == 0)
    if not len(absent):
        return ""
    names = ", ".join(str(label) for label in classes[absent[:3]]) + (", …" if len(absent) > 3 else "")
    return f"needs rows of {'both classes' if len(classes) == 2 else 'every class'}, but there are none of {names}"


def _to_shown(score: float, is_loss: bool) -> float | None:
    # Adding 0 turns -0 into 0.
    return None if not np.isfinite(score) else float(-score if is_loss else score) + 0.0


def _to_shown_interval(interval: Any, is_loss: bool) -> Interval | None:
    low, high = (_to_shown(end, is_loss) for end in interval)
    if low is None or high is None:
        return None
    return (max(high, 0.0), low) if is_loss else (low, high)


def _compute_quartiles(judgement: Judgement) -> dict[str, float]:
    points = np.quantile(judgement.given - judgement.predicted, list(QUARTILES.values()))
    return dict(zip(QUARTILES, points.tolist(), strict=True))


def _tabulate(scores: Any) -> list[list[str]]:
    """Make the lines of a table of scores, with a title above the columns."""
    rows = [["", "score", "95 % interval", "out-of-patch", "95 % interval", ""]]
    for score in scores:
        note = score.reason or ("smaller is better" if score.is_loss else "")
        rows.append([score.title, *score.format(), note])
    return rows


def _align(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
