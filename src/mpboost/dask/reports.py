"""What shard 0 tells the client about a run, and what callbacks see there in its place."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from mpboost._arrays import Floats, Positions
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason
from mpboost.boosting.stopping import Watched

#: The lists of a run that grow by a value in each iteration.
CURVES = ("train_scores", "oop_scores", "validation_scores", "qualities")


class Moment(Enum):
    """When a report is made."""

    BEGIN = "before the first iteration"
    ITERATION = "after an iteration"
    END = "after the last iteration"


@dataclass
class Report:
    """The state of a run, without what it has about rows; of curves only the values that were not yet told.

    Attributes
    ----------
    moment : Moment
        When it was made.
    facts : dict
        Attributes of the run that are single values.
    n_told : int
        Number of iterations whose values were told before.
    curves : dict of str to list
        The values that follow.
    """

    moment: Moment
    facts: dict[str, Any]
    n_told: int
    curves: dict[str, list[float]]


def make_report(run: BoostingRun, moment: Moment, n_told: int) -> Report:
    """Make a report of a run, some iterations of which were told before."""
    names = ("iteration", "n_estimators", "round_size", "watched", "best_iteration", "stop_reason", "stop_words")
    facts = {name: getattr(run, name) for name in (*names, "has_oop_score", "features", "params")}
    return Report(moment, facts, n_told, {name: list(getattr(run, name)[n_told:]) for name in CURVES})


@dataclass
class RunView:
    """What callbacks see of a run that goes on in other processes, in place of ``BoostingRun``.

    It has the attributes about scores, features and stopping. Those about single rows (``rows``,
    ``observation_probabilities``) and the parts of the run stay on the workers: asking for them raises an
    AttributeError.

    Attributes
    ----------
    n_samples : int
        Number of training rows.
    iteration, n_estimators, round_size, best_iteration, features, params : various
        As those of ``BoostingRun``.
    watched, has_oop_score, stop_reason, stop_words : various
        As those of ``BoostingRun``.
    train_scores, oop_scores, validation_scores, qualities : list of float
        As those of ``BoostingRun``.
    """

    n_samples: int
    look: Callable[[str], Any]
    iteration: int = 0
    n_estimators: int = 0
    round_size: int = 1
    watched: Watched = field(default_factory=lambda: Watched("out-of-patch score"))
    best_iteration: int = 0
    stop_reason: StopReason | None = None
    stop_words: str = ""
    has_oop_score: bool = True
    features: Positions | None = None
    params: dict[str, Any] = field(default_factory=dict)
    train_scores: list[float] = field(default_factory=list)
    oop_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    qualities: list[float] = field(default_factory=list)
    #: What callbacks want: the name of a ``StopReason`` and a detail; None to go on.
    wish: tuple[str, str] | None = None

    def update(self, report: Report) -> None:
        """Take a report; it may repeat what was told before."""
        vars(self).update(report.facts)
        for name, values in report.curves.items():
            curve = getattr(self, name)
            curve[report.n_told :] = values

    @property
    def scores(self) -> list[float]:
        """The validation scores if there is validation data, otherwise the out-of-patch scores."""
        return self.validation_scores or self.oop_scores

    @property
    def feature_probabilities(self) -> Floats:
        """The distribution q over features, fetched from shard 0 on each access."""
        return self.look("feature_probabilities")

    def stop(self, reason: StopReason, detail: str = "") -> None:
        """End the run after this iteration; only the first reason is kept."""
        if self.stop_reason is None:
            self.stop_reason, self.stop_words, self.wish = reason, reason.describe(detail), (reason.name, detail)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"Callbacks of a fit on a cluster have no access to {name!r}: it stays on the workers. They can use "
            "iteration, n_estimators, n_samples, features, feature_probabilities, best_iteration and the scores."
        )
