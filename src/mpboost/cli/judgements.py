"""Show how good a model is on a table: scores, confusion, mistakes, residuals."""

from typing import Any

from mpboost._wording import count, format_number, format_share
from mpboost.cli.output import Output
from mpboost.inspection.evaluation import Evaluation, Verdict

#: With more classes, the most frequent mistakes are shown in place of the confusion matrix; so many of them.
MAX_CLASSES, N_MISTAKES = 8, 10

VERDICTS: dict[Verdict | None, str] = {
    "as expected": "The new rows keep what the out-of-patch score promised: the difference may be chance.",
    "worse": "The model is clearly worse on these rows than the out-of-patch score promised: they differ from the "
    "training rows, or training rows depend on each other (copies, several rows of one person).",
    "better": "The model is clearly better on these rows than the out-of-patch score promised: they differ from the "
    "training rows, or some of them were trained on.",
}


def show_scores(evaluation: Evaluation, out: Output) -> None:
    """Show the scores and their intervals, beside the out-of-patch ones."""
    scores = evaluation.scores.values()
    written = [[text.replace(",", " ") for text in score.format()] for score in scores]  # thousands as everywhere
    here, interval, oop, oop_interval = zip(*written, strict=True)
    columns = {"score": [score.title for score in scores]}
    name = "training" if evaluation.is_training else "new rows"
    columns |= {name: list(here), "95 % interval": list(interval)}
    if any(score.oop_value is not None for score in scores):
        columns |= {"out-of-patch": list(oop), "its interval": list(oop_interval)}
    out.table(columns, right=(name, "95 % interval", "out-of-patch", "its interval"))
    notes = [f"Left out: {score.title} {score.reason}." for score in scores if score.reason]
    losses = " and ".join(score.title for score in scores if score.is_loss)
    out.say(*notes, *([f"Smaller is better: {losses}."] if losses else []))


def word_training(evaluation: Evaluation) -> str:
    """Say what scores of the training table are worth."""
    main = evaluation.scores[evaluation.main]
    is_low = main.oop_interval is not None and main.value is not None and main.value < main.oop_interval[0]
    if is_low and not main.is_loss:
        return (
            "The targets are those of the training table, but the scores are lower than out of patch: the features are "
            "probably read otherwise than in training, or the rows are others."
        )
    return (
        "These are the rows that the model was trained on, so their scores are too good. The column out-of-patch tells "
        "how good the model is."
    )


def show_confusion(evaluation: Evaluation, target: str, out: Output) -> None:
    """Show how often each class is predicted for each."""
    assert evaluation.confusion is not None
    assert evaluation.classes is not None
    matrix, names = evaluation.confusion.to_matrix(), [str(label) for label in evaluation.classes]
    totals = matrix.sum(axis=1)
    out.title("Confusion", f"rows by {target} as given and as predicted")
    columns: dict[str, list[str]] = {"given": names}
    columns |= {f"→ {name}": [str(number) for number in matrix[:, k]] for k, name in enumerate(names)}
    columns["right"] = [
        format_share(matrix[k, k] / total) if total else "no rows" for k, total in enumerate(totals.tolist())
    ]
    out.table(columns, right=[name for name in columns if name != "given"])


def show_mistakes(evaluation: Evaluation, target: str, out: Output) -> None:
    """Show the most frequent mistakes."""
    assert evaluation.confusion is not None
    assert evaluation.classes is not None
    confusion, classes = evaluation.confusion, evaluation.classes
    mistakes, totals = confusion.rank_mistakes(N_MISTAKES), confusion.count_given()
    n_wrong = evaluation.n_rows - int(confusion.count_right().sum())
    out.title("Mistakes", f"{count(n_wrong, 'row')} wrong; the most frequent mistakes in {target}")
    if mistakes:
        out.table(
            {
                "given": [str(classes[given]) for given, _, _ in mistakes],
                "predicted": [str(classes[predicted]) for _, predicted, _ in mistakes],
                "rows": [str(number) for *_, number in mistakes],
                "share of class": [format_share(number / totals[given]) for given, _, number in mistakes],
            },
            right=("rows", "share of class"),
        )


def show_residuals(evaluation: Evaluation, out: Output) -> None:
    """Show the quartiles of the residuals."""
    assert evaluation.residuals is not None
    out.title("Residuals", "given minus predicted")
    name = "training" if evaluation.is_training else "new rows"
    columns: dict[str, list[Any]] = {
        "quartile": list(evaluation.residuals),
        name: [format_number(value) for value in evaluation.residuals.values()],
    }
    if evaluation.oop_residuals is not None:
        columns["out-of-patch"] = [format_number(value) for value in evaluation.oop_residuals.values()]
    out.table(columns, right=(name, "out-of-patch"))
