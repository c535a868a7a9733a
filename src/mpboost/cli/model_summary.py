"""Load a model and summarise it: on the terminal, and as JSON."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from sklearn.base import is_classifier

from mpboost.cli.estimators import list_changed_parameters
from mpboost.cli.formatting import count, format_share, list_names, suggest_name
from mpboost.cli.output import LABEL, Output, draw_bar
from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.stages import name_score
from mpboost.model_files.model_file import load_model
from mpboost.outputs.metrics import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS

#: Features that are shown, the most probable first.
MAX_SHOWN_FEATURES = 10


def open_model(path: Path) -> MinipatchBooster:
    """Load a model; if there is no such file, suggest a similar name."""
    if not path.exists():
        names = [each.name for each in path.parent.glob("*.mp*")] if path.parent.is_dir() else []
        raise FileNotFoundError(f"Model file not found: {path}{suggest_name(path.name, names)}")
    return load_model(path)


def get_target_name(model: MinipatchBooster) -> str | None:
    """Return the name of the target column, if the model has one."""
    return getattr(model, "target_name_", None)


def list_features(model: MinipatchBooster) -> list[tuple[str, float]]:
    """List all features with their probabilities q, the most probable first."""
    q = model.feature_probabilities_
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(q))])
    return [(str(names[j]), float(q[j])) for j in np.argsort(-q, kind="stable")]


def describe_model(model: MinipatchBooster) -> dict[str, Any]:
    """Collect the facts about a model for JSON."""
    facts = {
        "estimator": type(model).__name__,
        "oop_score": model.oop_score_,
        "oop_interval": model.oop_interval_,
        "constant_score": model.constant_score_,
        "score": "R^2" if model.score_name_ == DEFAULT_OF_NUMBERS else model.score_name_,
        "trees": model.best_iteration_,
        "iterations": model.n_iter_,
        "stop_reason": model.stop_reason_,
        "minipatch": [model.max_samples_, model.max_features_],
        "rows": len(model.observation_probabilities_),
        "feature_probabilities": dict(list_features(model)),
        "parameters": model.get_params(),
    }
    return facts | ({"classes": model.classes_.tolist()} if is_classifier(model) else {})


def show_model(model: MinipatchBooster, out: Output) -> None:
    """Show the score of a model and how it was trained."""
    rows: list[tuple[str, Any]] = []
    if (target := get_target_name(model)) is not None:
        rows.append(("predicts", target))
    if is_classifier(model):
        rows.append(("classes", list_names(model.classes_)))
    rows.append((name_score(model), _format_score(model)))
    n_rows, n_features = len(model.observation_probabilities_), model.n_features_in_
    rows += [
        (
            "trees",
            f"{model.best_iteration_}, up to the best of {count(model.n_iter_, 'iteration')}; {model.stop_reason_}",
        ),
        (
            "minipatch",
            f"{model.max_samples_} of {count(n_rows, 'row')}, {model.max_features_} of {n_features} features",
        ),
    ]
    changed = {name: value for name, value in list_changed_parameters(model).items() if name != "n_jobs"}
    rows.append(("settings", ", ".join(f"{name}={value!r}" for name, value in changed.items())))
    out.rows([row for row in rows if row[1]])


def show_features(model: MinipatchBooster, out: Output) -> None:
    """Show the most useful features."""
    features = list_features(model)
    shown = features[:MAX_SHOWN_FEATURES]
    out.title("Features", f"the {len(shown)} most useful of {len(features)}, by the probability q of being drawn")
    out.table(
        {
            "feature": [name for name, _ in shown],
            "q": [f"{q:.3f}" for _, q in shown],
            "times uniform": [f"{q * len(features):.1f}" for _, q in shown],
            "": [draw_bar(q / features[0][1]) for _, q in shown],
        },
        right=("q", "times uniform"),
    )


def _format_score(model: MinipatchBooster) -> Text:
    """Format the out-of-patch score, how sure it is, and what it compares with."""
    low, high = model.oop_interval_
    if model.score_name_ == DEFAULT_OF_CLASSES:
        score, interval = format_share(model.oop_score_), f"{100 * low:.1f} to {100 * high:.1f} %"
        counts = np.bincount(model._targets)
        usual, usual_score = model.classes_[counts.argmax()], format_share(counts.max() / counts.sum())
        comparison = f"always predicting {usual}: {usual_score}"
    else:
        score, interval = f"{model.oop_score_:.3f}", f"{low:.3f} to {high:.3f}"
        usual = "shares of the classes" if is_classifier(model) else "mean"
        comparison = f"always predicting the {usual}: {model.constant_score_:.3g}"
    words = "out-of-patch, by trees not trained on the row"
    if not np.isnan(low):
        words = f"95 %: {interval}; {words}"
    if not np.isnan(model.constant_score_) or model.score_name_ == DEFAULT_OF_CLASSES:
        words = f"{words}; {comparison}"
    return Text.assemble((score, "bold"), (f"  {words}", LABEL))
