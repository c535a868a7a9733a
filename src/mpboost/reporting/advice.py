"""What a model itself gives reason to worry about, and what to do."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.boosting.stop_reasons import StopReason
from mpboost.inspection.judgement import Judgement
from mpboost.reporting.table import ColumnFacts

#: q has collapsed if it is worth fewer features than this share of a minipatch's.
COLLAPSED_SHARE = 0.25
#: p is concentrated if it is worth fewer rows than a minipatch has, times this.
CONCENTRATED_SHARE = 1.0
#: A row needs so many learners that never saw it; few rows may have fewer.
MIN_LEARNERS, MAX_SHARE_BELOW = 10, 0.05
#: With more suspect labels than this share the target as a whole is in doubt.
MANY_SUSPECTS = 0.05
#: Names that are listed.
N_NAMES = 8


def advise(
    model: Any, summary: dict[str, Any], names: Sequence[str], facts: ColumnFacts, judgement: Judgement | None
) -> list[dict[str, str]]:
    """List what deserves attention: what is the matter, what it means, what to do."""
    found = [
        _look_at_stop(model),
        _look_at_score(summary["score"]),
        _look_at_coverage(model, judgement),
        _look_at_features(model, summary["features"]),
        _look_at_rows(model, summary["observations"]),
        _look_at_suspects(summary),
        _look_at_columns(names, facts.is_constant, is_image=summary["features"]["images"] is not None),
    ]
    return [each for each in found if each is not None]


def _warn(title: str, meaning: str, action: str, level: str = "warning") -> dict[str, str]:
    return {"level": level, "title": title, "meaning": meaning, "action": action}


def _look_at_stop(model: Any) -> dict[str, str] | None:
    if model.stopping is None:
        return None
    reason = StopReason.recognise(model.stop_reason_)
    if reason is StopReason.N_ESTIMATORS:
        return _warn(
            f"Training stopped at the cap of {model.n_estimators:,} iterations",
            "Its score was not known to have stopped growing: more iterations may make it better.",
            "Raise n_estimators; with warm_start=True a second fit goes on where the first one ended.",
        )
    if reason is not StopReason.RULE:
        return _warn(
            f"Training ended early: {model.stop_reason_}",
            "The score was not known to have stopped growing: more iterations may make it better.",
            "Let it run longer (time_limit, callbacks), or take the model for a first look.",
        )
    return None


def _look_at_score(score: dict[str, Any]) -> dict[str, str] | None:
    if score["interval"] is None or score["interval"][0] > score["baseline"]:
        return None
    return _warn(
        "The model is not clearly better than no model",
        f"Its out-of-patch {score['name']} of {score['oop']:.3f} cannot be told from the {score['baseline']:.3f} of "
        "one that always says the same.",
        "Look for features that tell more of the target, check that rows and target belong together, or collect more "
        "rows. With rare classes, class_weight='balanced' makes them count.",
    )


def _look_at_coverage(model: Any, judgement: Judgement | None) -> dict[str, str] | None:
    if judgement is None:
        return _warn(
            "There is no out-of-patch score",
            "No learner can judge a row that it never saw, so nothing here says how good the model is on new rows.",
            model._oop_advice,
        )
    n_rows = np.count_nonzero(model.observation_probabilities_)
    n_judged = len(judgement.rows)
    if hasattr(model, "oop_size"):  # a reserved row is judged by a whole model, however many trees that has
        if n_judged == n_rows:
            return None
        return _warn(
            f"{n_judged:,} of {n_rows:,} rows are judged out of patch",
            "A gradient model judges the rows that it reserves; suspect labels are sought among these alone.",
            "That is enough for a score. To judge all rows, fit with n_models=5 and oop_size=0.2.",
            level="note",
        )
    few = n_rows - n_judged + np.count_nonzero(judgement.n_learners < MIN_LEARNERS)
    if few <= MAX_SHARE_BELOW * n_rows:
        return None
    return _warn(
        f"Out-of-patch coverage is low: {few:,} of {n_rows:,} rows have few judges",
        f"Fewer than {MIN_LEARNERS} learners, or none, never saw these rows: what is said of them is uncertain, and "
        "the score is probably too low.",
        "Take a smaller max_samples, more iterations (n_estimators, n_iter_no_change), or a lower learning_rate.",
    )


def _look_at_features(model: Any, features: dict[str, Any]) -> dict[str, str] | None:
    if not model.adaptive_features or model.max_features_ >= model.n_features_in_:
        return None
    if features["effective"] >= max(1.5, COLLAPSED_SHARE * model.max_features_):
        return None
    return _warn(
        "q has collapsed on few features",
        f"The feature probabilities are worth {features['effective']:.1f} features, while a minipatch takes "
        f"{model.max_features_:,} of {model.n_features_in_:,}. If only these carry signal, that is what should happen; "
        "one that gives the target away (a leak) looks the same.",
        "Check the first features of the ranking for leaks. To look at others more often, raise feature_exploration or "
        "lower feature_momentum.",
    )


def _look_at_rows(model: Any, observations: dict[str, Any]) -> dict[str, str] | None:
    if not model.adaptive_observations or observations["effective"] >= CONCENTRATED_SHARE * model.max_samples_:
        return None
    n_rows = np.count_nonzero(model.observation_probabilities_)
    return _warn(
        "p is concentrated on few rows",
        f"The observation probabilities are worth {observations['effective']:,.0f} of {n_rows:,} rows, fewer than the "
        f"{model.max_samples_:,} of a minipatch: the same hard rows are learned from again and again.",
        "Late in a long run, when all other rows are right by far, that does no harm while the out-of-patch score "
        "holds. If it falls, wrong labels are a likely reason: look at the hardest rows below and correct them, or "
        "lower learning_rate (raise observation_exploration, where there is one).",
    )


def _look_at_suspects(summary: dict[str, Any]) -> dict[str, str] | None:
    n_suspects, n_judged = summary["observations"]["n_suspects"], summary["score"]["n_judged"]
    if not n_suspects or n_suspects <= MANY_SUSPECTS * n_judged:
        return None
    is_number = summary["score"]["name"] == "R²"
    return _warn(
        f"{n_suspects / n_judged:.0%} of the {'targets' if is_number else 'labels'} look wrong",
        "Targets far from what the model expects are common here: heavy tails, or errors."
        if is_number
        else "That many are rarely slips: the target is noisy, or the features do not tell these classes apart.",
        "Read some of the rows below. If their targets are right, the list shows what the features cannot explain.",
        level="note",
    )


def _look_at_columns(names: Sequence[str], is_constant: NDArray[np.bool_], *, is_image: bool) -> dict[str, str] | None:
    constant = np.flatnonzero(is_constant)
    if not len(constant):
        return None
    listed = ", ".join(names[j] for j in constant[:N_NAMES]) + (", …" if len(constant) > N_NAMES else ".")
    return _warn(
        f"{len(constant):,} of {len(names):,} columns are constant",
        f"They hold one value, or none, in all rows: {listed}",
        "At the border of images that is usual. Without them no draw would be wasted."
        if is_image
        else "Leave them out: they cannot help, and each draw of one is wasted.",
        level="note",
    )
