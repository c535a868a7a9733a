"""What there is to say of a fitted model, and the command info."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from sklearn.base import is_classifier

from mpboost.cli.estimators import list_changes
from mpboost.cli.options import Json, ModelPath
from mpboost.cli.output import LABEL, Output, draw_bar
from mpboost.cli.wording import count, find_closest, format_share, list_names
from mpboost.model_files.model_file import load_model

#: Features that are shown, the likeliest first.
MANY_FEATURES = 10


def info(model: ModelPath, as_json: Json = False) -> None:
    """Say what a model file holds."""
    with Output(as_json=as_json) as out:
        fitted = open_model(model)
        out.title(model.name, type(fitted).__name__)
        show_model(fitted, out)
        show_features(fitted, out)
        out.know(model=str(model), target=get_target_name(fitted), **describe_model(fitted))


def open_model(path: Path) -> Any:
    """Load a model, or say which file may be meant."""
    if not path.exists():
        names = [each.name for each in path.parent.glob("*.mp*")] if path.parent.is_dir() else []
        raise FileNotFoundError(f"There is no model {path}{find_closest(path.name, names)}")
    return load_model(path)


def get_target_name(model: Any) -> str | None:
    """Tell what the model predicts, if its file knows."""
    return getattr(model, "target_name_", None)


def list_features(model: Any) -> list[tuple[str, float]]:
    """List all features with their probabilities q, the likeliest first."""
    q = model.feature_probabilities_
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(q))])
    return [(str(names[j]), float(q[j])) for j in np.argsort(-q, kind="stable")]


def describe_model(model: Any) -> dict[str, Any]:
    """List the facts about a model, for machines."""
    facts = {
        "estimator": type(model).__name__,
        "oop_score": model.oop_score_,
        "score": "accuracy" if is_classifier(model) else "R^2",
        "trees": model.best_iteration_,
        "iterations": model.n_iter_,
        "stop_reason": model.stop_reason_,
        "minipatch": [model.max_samples_, model.max_features_],
        "rows": len(model.observation_probabilities_),
        "feature_probabilities": dict(list_features(model)),
        "parameters": model.get_params(),
    }
    return facts | ({"classes": model.classes_.tolist()} if is_classifier(model) else {})


def show_model(model: Any, out: Output) -> None:
    """Say how good a model is and how it came about."""
    rows: list[tuple[str, Any]] = []
    if (target := get_target_name(model)) is not None:
        rows.append(("predicts", target))
    if is_classifier(model):
        rows.append(("classes", list_names(model.classes_)))
        counts = np.bincount(model._targets)
        always = f"always saying {model.classes_[counts.argmax()]} has {format_share(counts.max() / counts.sum())}"
        rows.append(("accuracy", _format_score(format_share(model.oop_score_), always)))
    else:
        rows.append(("R²", _format_score(f"{model.oop_score_:.3f}", "1 is perfect, always saying the mean has 0")))
    n_rows, n_features = len(model.observation_probabilities_), model.n_features_in_
    rows += [
        ("trees", f"{model.best_iteration_}, the best of {count(model.n_iter_, 'iteration')}: {model.stop_reason_}"),
        (
            "minipatch",
            f"{model.max_samples_} of {count(n_rows, 'row')}, {model.max_features_} of {n_features} features",
        ),
    ]
    changes = {name: value for name, value in list_changes(model).items() if name != "n_jobs"}
    rows.append(("settings", ", ".join(f"{name}={value!r}" for name, value in changes.items())))
    out.rows([row for row in rows if row[1]])


def show_features(model: Any, out: Output) -> None:
    """Show the features that training found most useful."""
    features = list_features(model)
    shown = features[:MANY_FEATURES]
    out.title("Features", f"the likeliest {len(shown)} of {len(features)}")
    out.table(
        {
            "feature": [name for name, _ in shown],
            "q": [f"{q:.3f}" for _, q in shown],
            "times chance": [f"{q * len(features):.1f}" for _, q in shown],
            "": [draw_bar(q / features[0][1]) for _, q in shown],
        },
        right=("q", "times chance"),
    )


def _format_score(score: str, beside: str) -> Text:
    return Text.assemble((score, "bold"), (f"  out of patch: by trees that never saw the row; {beside}", LABEL))
