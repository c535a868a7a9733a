"""Warnings about a model: what is wrong, what it means, and what to do."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.boosting.stop_reasons import StopReason
from mpboost.estimators.base import MinipatchBooster
from mpboost.inspection.judgement import Judgement
from mpboost.reporting.table import ColumnFacts

#: p is concentrated if its effective number is below this share of a minipatch's rows.
CONCENTRATED_SHARE = 1.0
#: Each row should be judged by so many learners; at most this share of the rows may have fewer.
MIN_LEARNERS, MAX_SHARE_BELOW = 10, 0.05
#: If a larger share of the labels can be wrong, or of the targets is suspect, a note says so.
MANY_SUSPECTS = 0.05
#: Number of column names to list.
N_NAMES = 8


def advise(
    model: MinipatchBooster,
    summary: dict[str, Any],
    names: Sequence[str],
    facts: ColumnFacts,
    judgement: Judgement | None,
) -> list[dict[str, str]]:
    """List the warnings and notes about a model; of those about its training rows, none if the report is on others."""
    found = [_check_stop(model), _check_score(summary["score"]), _check_features(model, summary["features"])]
    if summary["about"]["is_training"]:
        found[2:2] = [_check_coverage(model, judgement)]
        found += [
            _check_rows(model, summary["observations"]),
            _check_suspects(summary),
            _check_columns(names, facts.is_constant, is_image=summary["features"]["images"] is not None),
        ]
    else:
        is_empty = facts.n_missing == summary["about"]["n_rows"]
        found = [_check_new_rows(summary["score"]), *found, _check_empty_columns(names, is_empty)]
    return [each for each in found if each is not None]


def _warn(title: str, meaning: str, action: str, level: str = "warning") -> dict[str, str]:
    return {"level": level, "title": title, "meaning": meaning, "action": action}


def _check_stop(model: MinipatchBooster) -> dict[str, str] | None:
    if model.stopping is None:
        return None
    reason = StopReason.recognise(model.stop_reason_)
    if reason is StopReason.N_ESTIMATORS:
        return _warn(
            f"Training reached the limit of {model.n_estimators:,} iterations",
            "The score may still have been improving: more iterations may give a better model.",
            "Raise n_estimators. With warm_start=True a second fit continues where the first one ended.",
        )
    if reason is not StopReason.RULE:
        return _warn(
            f"Training ended early: {model.stop_reason_}",
            "The score may still have been improving: more iterations may give a better model.",
            "Train longer (time_limit, callbacks), or use this model as a first draft.",
        )
    return None


def _check_score(score: dict[str, Any]) -> dict[str, str] | None:
    if score["interval"] is None or score["baseline"] is None or score["interval"][0] > score["baseline"]:
        return None
    is_better = score["oop"] > score["baseline"]
    verdict = "The difference may be chance." if is_better else "It has learned nothing that helps."
    return _warn(
        f"The model is {'not clearly' if is_better else 'no'} better than a constant prediction",
        f"Its out-of-patch {score['name']} is {score['oop']:.3f}; always predicting the same value gives "
        f"{score['baseline']:.3f}. {verdict}",
        "Add features that say more about the target, check that each row has its own target, or collect more rows. "
        "If classes are rare, try class_weight='balanced'.",
    )


def _check_new_rows(score: dict[str, Any]) -> dict[str, str] | None:
    """Compare the score of new rows with the out-of-patch score."""
    if score["verdict"] not in ("worse", "better"):
        return None
    main = next(each for each in score["measures"] if each["name"] == score["main"])
    meaning = f"Their {main['title']} is {main['value']:.4g}; the out-of-patch estimate was {main['oop_value']:.4g}. "
    if score["verdict"] == "better":
        return _warn(
            "The new rows are easier than the training rows",
            meaning + "The difference is more than chance: the new rows differ from the training rows, or some of them "
            "were trained on.",
            "Check that the new rows are a fair sample, and that none of them is in the training table.",
            level="note",
        )
    return _warn(
        "The model is clearly worse on the new rows than it promised",
        meaning + "The difference is more than chance: the new rows differ from the training rows (they are later, or "
        "from elsewhere), or training rows depend on each other (copies, several rows of one person), which makes the "
        "out-of-patch score too good.",
        "Compare the hardest rows below with the training table, and train on rows like the new ones.",
    )


def _check_coverage(model: MinipatchBooster, judgement: Judgement | None) -> dict[str, str] | None:
    if judgement is None:
        return _warn(
            "There is no out-of-patch score",
            "Every learner was trained on every row, so this report cannot say how good the model is on new rows.",
            model._oop_advice,
        )
    n_rows = np.count_nonzero(model.observation_probabilities_)
    n_judged = len(judgement.rows)
    if hasattr(model, "oop_size"):  # a reserved row is judged by a whole model, however many trees that has
        if n_judged == n_rows:
            return None
        return _warn(
            f"{n_judged:,} of {n_rows:,} rows have out-of-patch predictions",
            "A gradient model predicts only the rows that it reserves; suspect labels are searched among these.",
            "This is enough for a score. To cover all rows, fit with n_models=5 and oop_size=0.2.",
            level="note",
        )
    few = n_rows - n_judged + np.count_nonzero(judgement.n_learners < MIN_LEARNERS)
    if few <= MAX_SHARE_BELOW * n_rows:
        return None
    return _warn(
        f"Out-of-patch coverage is low for {few:,} of {n_rows:,} rows",
        f"Nearly all learners were trained on these rows: fewer than {MIN_LEARNERS}, or none, can judge them. Their "
        "out-of-patch predictions are uncertain, and the score is probably too low.",
        "Use a smaller max_samples, more iterations (n_estimators, n_iter_no_change), or a lower learning_rate.",
    )


def _check_features(model: MinipatchBooster, features: dict[str, Any]) -> dict[str, str] | None:
    if not features["has_collapsed"]:
        return None
    return _warn(
        "q has collapsed on few features",
        f"The effective number of features is {features['effective']:.1f}, while a minipatch takes "
        f"{model.max_features_:,} of {model.n_features_in_:,}. This is right if only these features are useful; but a "
        "feature that gives the target away (a leak) has the same effect.",
        "Check the top features of the ranking for leaks. To draw other features more often, raise feature_exploration "
        "or lower feature_momentum.",
    )


def _check_rows(model: MinipatchBooster, observations: dict[str, Any]) -> dict[str, str] | None:
    if not model.adaptive_observations or observations["effective"] >= CONCENTRATED_SHARE * model.max_samples_:
        return None
    n_rows = np.count_nonzero(model.observation_probabilities_)
    return _warn(
        "p is concentrated on few rows",
        f"The effective number of rows is {observations['effective']:,.0f} of {n_rows:,}, fewer than the "
        f"{model.max_samples_:,} of a minipatch: the model trains on the same hard rows again and again.",
        "Late in a long run, when all other rows are clearly right, this does no harm as long as the out-of-patch "
        "score does not fall. If it falls, wrong labels are a likely reason: check the hardest rows below and correct "
        "their labels, or lower learning_rate (raise observation_exploration, if the model has it).",
    )


def _check_suspects(summary: dict[str, Any]) -> dict[str, str] | None:
    noise = summary["observations"]["label_noise"]
    if noise is not None:
        if noise <= MANY_SUSPECTS:
            return None
        return _warn(
            f"Labels are noisy: up to {noise:.0%} of them may be wrong",
            f"{noise:.0%} of the labels disagree even with the predictions that the model is most sure of. Either that "
            "many labels are wrong, or the features cannot explain the target better; data alone cannot tell.",
            "Check some of the rows below. If their labels are right, the target is noisy by nature: only features "
            "that say more about it would help.",
            level="note",
        )
    n_suspects, n_judged = summary["observations"]["n_suspects"], summary["score"]["n_judged"]
    if summary["residuals"] is None or not n_suspects or n_suspects <= MANY_SUSPECTS * n_judged:
        return None
    return _warn(
        f"{n_suspects / n_judged:.0%} of the targets are far from their predictions",
        "The target has heavy tails, or errors.",
        "Check some of the rows below. If their targets are right, the features cannot explain these rows.",
        level="note",
    )


def _check_columns(names: Sequence[str], is_constant: NDArray[np.bool_], *, is_image: bool) -> dict[str, str] | None:
    constant = np.flatnonzero(is_constant)
    if not len(constant):
        return None
    return _warn(
        f"{len(constant):,} of {len(names):,} columns are constant",
        f"They have the same value, or no value, in all rows: {_list_columns(names, constant)}",
        "This is usual at the border of images. Training without these pixels wastes no draws on them."
        if is_image
        else "Leave them out: they are useless, and drawing them wastes places in minipatches.",
        level="note",
    )


def _check_empty_columns(names: Sequence[str], is_empty: NDArray[np.bool_]) -> dict[str, str] | None:
    empty = np.flatnonzero(is_empty)
    if not len(empty):
        return None
    return _warn(
        f"{len(empty):,} of {len(names):,} columns of the new table {'has' if len(empty) == 1 else 'have'} no values",
        f"The model has to do without them: {_list_columns(names, empty)}",
        "Check that these columns are filled as in the training table.",
    )


def _list_columns(names: Sequence[str], columns: NDArray[np.intp]) -> str:
    return ", ".join(names[j] for j in columns[:N_NAMES]) + (", …" if len(columns) > N_NAMES else ".")
