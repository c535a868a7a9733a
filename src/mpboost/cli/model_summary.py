"""Load a model and summarise it: on the terminal, and as JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from mpboost._wording import count, format_share, list_names, suggest_name
from mpboost.cli.output import LABEL, Output, draw_bar
from mpboost.model_files.facts import ModelFacts, collect_facts
from mpboost.outputs.score_names import DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS, word_score

if TYPE_CHECKING:
    from mpboost.estimators.base import MinipatchBooster

#: Features that are shown, the most probable first.
MAX_SHOWN_FEATURES = 10

#: Parameters that are not shown among the settings: they are objects, or say nothing about the model.
HIDDEN_SETTINGS = {"callbacks", "estimator", "n_jobs", "verbose", "warm_start"}


def open_model(path: Path) -> "MinipatchBooster":
    """Load a model; if there is no such file, suggest a similar name."""
    check_exists(path)
    from mpboost.model_files.model_file import load_model  # it imports scikit-learn

    return load_model(path)


def check_exists(path: Path) -> None:
    """Raise an error if there is no such model file, and suggest a similar name."""
    if not path.exists():
        names = [each.name for each in path.parent.glob("*.mp*")] if path.parent.is_dir() else []
        raise FileNotFoundError(f"Model file not found: {path}{suggest_name(path.name, names)}")


def get_target_name(model: "MinipatchBooster") -> str | None:
    """Return the name of the target column, if the model has one."""
    return getattr(model, "target_name_", None)


def list_features(model: "MinipatchBooster | ModelFacts") -> list[tuple[str, float]]:
    """List all features with their probabilities q, the most probable first."""
    facts = _as_facts(model)
    q = facts.feature_probabilities
    return [(facts.feature_names[j], float(q[j])) for j in np.argsort(-q, kind="stable")]


def describe_model(model: "MinipatchBooster | ModelFacts") -> dict[str, Any]:
    """Collect the facts about a model for JSON."""
    facts = _as_facts(model)
    document = {
        "estimator": facts.estimator,
        "oop_score": facts.oop_score,
        "oop_interval": facts.oop_interval,
        "constant_score": facts.constant_score,
        "score": "R^2" if facts.score_name == DEFAULT_OF_NUMBERS else facts.score_name,
        "trees": facts.best_iteration,
        "iterations": facts.n_iter,
        "stop_reason": facts.stop_reason,
        "minipatch": [facts.max_samples, facts.max_features],
        "rows": facts.n_rows,
        "feature_probabilities": dict(list_features(facts)),
        "parameters": facts.parameters,
    }
    return document if facts.classes is None else document | {"classes": facts.classes.tolist()}


def show_model(model: "MinipatchBooster | ModelFacts", out: Output) -> None:
    """Show the score of a model and how it was trained."""
    facts = _as_facts(model)
    rows: list[tuple[str, Any]] = []
    if facts.target_name is not None:
        rows.append(("predicts", facts.target_name))
    if facts.classes is not None:
        rows.append(("classes", list_names(facts.classes)))
    rows.append((word_score(facts.score_name), _format_score(facts)))
    n_features = len(facts.feature_names)
    rows += [
        (
            "trees",
            f"{facts.best_iteration}, up to the best of {count(facts.n_iter, 'iteration')}; {facts.stop_reason}",
        ),
        (
            "minipatch",
            f"{facts.max_samples} of {count(facts.n_rows, 'row')}, {facts.max_features} of {n_features} features",
        ),
    ]
    changed = _list_changed_parameters(facts)
    rows.append(("settings", ", ".join(f"{name}={value!r}" for name, value in changed.items())))
    out.rows([row for row in rows if row[1]])


def show_features(model: "MinipatchBooster | ModelFacts", out: Output) -> None:
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


def _as_facts(model: "MinipatchBooster | ModelFacts") -> ModelFacts:
    return model if isinstance(model, ModelFacts) else collect_facts(model)


def _list_changed_parameters(facts: ModelFacts) -> dict[str, Any]:
    """List the parameters that differ from their defaults."""
    return {
        name: value
        for name, value in facts.parameters.items()
        if name not in HIDDEN_SETTINGS and not (value is facts.defaults[name] or value == facts.defaults[name])
    }


def _format_score(facts: ModelFacts) -> Text:
    """Format the out-of-patch score, how sure it is, and what it compares with."""
    low, high = facts.oop_interval
    if facts.score_name == DEFAULT_OF_CLASSES and facts.classes is not None and facts.class_counts is not None:
        score, interval = format_share(facts.oop_score), f"{100 * low:.1f} to {100 * high:.1f} %"
        counts = facts.class_counts
        usual, usual_score = facts.classes[counts.argmax()], format_share(counts.max() / counts.sum())
        comparison = f"always predicting {usual}: {usual_score}"
    else:
        score, interval = f"{facts.oop_score:.3f}", f"{low:.3f} to {high:.3f}"
        usual = "mean" if facts.classes is None else "shares of the classes"
        comparison = f"always predicting the {usual}: {facts.constant_score:.3g}"
    words = "out-of-patch, by trees not trained on the row"
    if not np.isnan(low):
        words = f"95 %: {interval}; {words}"
    if not np.isnan(facts.constant_score) or facts.score_name == DEFAULT_OF_CLASSES:
        words = f"{words}; {comparison}"
    return Text.assemble((score, "bold"), (f"  {words}", LABEL))
