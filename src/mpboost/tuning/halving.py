"""Successive halving: candidates train for some iterations, and the worst are dropped after each rung."""

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from mpboost._bars import Bar
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason
from mpboost.estimators.base import MinipatchBooster

#: Scores on either side that a score is averaged with: one lucky iteration must not win.
NEIGHBOURS = 5


@dataclass
class Candidate:
    """A set of parameters in the tournament, and the model trained with it.

    Attributes
    ----------
    index : int
        Position in the list of candidates.
    params : dict
        The parameters.
    model : estimator or None
        None once the candidate has lost, which frees its binned data.
    rung : int
        The last rung that it entered, counted from 1; 0 if none.
    score : float
        The current out-of-patch score of the model, smoothed; NaN before the first fit and if that failed.
    oop_votes : float
        How often a row was out of patch, on average; for gradient models, how often a reserved row was judged.
    """

    index: int
    params: dict[str, Any]
    model: MinipatchBooster | None
    rung: int = 0
    score: float = math.nan
    n_iterations: int = 0
    oop_votes: float = 0.0
    fit_time: float = 0.0
    has_ended: bool = False

    @property
    def place(self) -> tuple[bool, float, float, int]:
        """Key to rank candidates: those still in the tournament by score, the others by their last rung, then score."""
        is_running, failed = self.model is not None, math.isnan(self.score)
        return is_running, -1 if failed else 0 if is_running else self.rung, self.sortable_score, -self.index

    @property
    def held_model(self) -> MinipatchBooster:
        """The model, of a candidate that has not lost."""
        assert self.model is not None
        return self.model

    @property
    def sortable_score(self) -> float:
        """The score, with NaN as the worst."""
        return -math.inf if math.isnan(self.score) else self.score

    def train(self, fit: Callable[[Any], Any], rung_end: "RungEnd", time_limit: float | None) -> None:
        """Train until the rung or the fit ends; the parameters of the model are restored afterwards."""
        model = self.held_model
        model._validate_params()
        own_limit = None if model.time_limit is None else model.time_limit - self.fit_time
        limits = [max(limit, 1e-9) for limit in (own_limit, time_limit) if limit is not None]
        borrowed = {
            "warm_start": True,
            "callbacks": [*(model.callbacks or ()), rung_end],
            "time_limit": min(limits, default=None),
            "verbose": 0,
        }
        own = {name: getattr(model, name) for name in borrowed}
        start = time.monotonic()
        try:
            model.set_params(**borrowed)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The fit was interrupted", RuntimeWarning)  # the search warns itself
                fit(model)
        finally:
            model.set_params(**own)
            self.fit_time += time.monotonic() - start
        self.n_iterations = model.n_iter_
        self.has_ended = not rung_end.ended_fit
        self.score = smooth_score(model)
        if math.isnan(self.score):
            raise ValueError(f"There is no out-of-patch score to compare. {model._oop_advice}")


@dataclass(frozen=True)
class Rung:
    """A round of the tournament.

    Attributes
    ----------
    number : int
        Number of the rung, counted from 1.
    n_candidates, n_survivors : int
        How many candidates enter the rung, and how many stay in the tournament.
    oop_votes : float
        The rung ends for a candidate when the average row has this number of out-of-patch votes.
    work : float
        Approximate number of iterations of each candidate.
    """

    number: int
    n_candidates: int
    n_survivors: int
    oop_votes: float
    work: float


def plan_rungs(n_candidates: int, n_estimators: int, factor: int, min_iterations: int) -> list[Rung]:
    """Plan rungs: each keeps one candidate in ``factor``; the next ends ``factor`` times later, the last never."""
    rungs: list[Rung] = []
    done, votes = 0, min_iterations
    while n_candidates > factor and votes < n_estimators:
        n_survivors = math.ceil(n_candidates / factor)
        rungs.append(Rung(len(rungs) + 1, n_candidates, n_survivors, votes, votes - done))
        done, votes, n_candidates = votes, votes * factor, n_survivors
    return [*rungs, Rung(len(rungs) + 1, n_candidates, 1, math.inf, n_estimators - done)]


def smooth_score(model: MinipatchBooster) -> float:
    """Average the out-of-patch score of a model with its neighbours on the curve."""
    best = model.best_iteration_
    return float(np.mean(model.oop_scores_[max(0, best - NEIGHBOURS) : best + NEIGHBOURS]))


class RungEnd(Callback):
    """Callback that stops the fit of a candidate at the end of a rung, by out-of-patch votes.

    A row that was in all minipatches so far counts as wrong, and a row with three votes is judged by only these three.
    After equal iterations, larger minipatches therefore look worse than they are. On Madelon after 20 iterations: 58 %
    with nine tenths of the rows (84 % at the end), 66 % with a quarter of them (75 % at the end). After equal
    out-of-patch votes it is 83 % against 69 %.
    """

    def __init__(self, candidate: Candidate, rung: Rung, report: Callable[[float], None]):
        self._candidate, self._rung, self._report = candidate, rung, report
        self._first_votes, self._first_iteration = candidate.oop_votes, candidate.n_iterations
        self._is_over = False
        self.fit_reason: StopReason | None = None

    @property
    def ended_fit(self) -> bool:
        """Whether the fit stopped because the rung ended."""
        return self._is_over and self.fit_reason is StopReason.CALLBACK

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Count votes, report progress, and stop the fit at the end of the rung."""
        candidate, goal = self._candidate, self._rung.oop_votes
        judged = run.parts.task.count_judgements(run.rows)
        candidate.oop_votes += judged
        if math.isinf(goal):
            self._report((run.iteration - self._first_iteration) / (run.n_estimators - self._first_iteration))
        else:
            self._report((candidate.oop_votes - self._first_votes) / (goal - self._first_votes))
        self._is_over = run.stop_reason is None and (judged == 0 or candidate.oop_votes >= goal)
        return self._is_over

    def on_fit_end(self, run: BoostingRun) -> None:
        """Record why the fit ended."""
        self.fit_reason = run.stop_reason


class SearchBar(Bar):
    """A progress bar over all rungs, with the current candidate and the best score so far."""

    @contextmanager
    def watch(self, tournament: "Tournament") -> Iterator[None]:
        """Show the bar during a tournament."""
        self._open(tournament.work, shows_count=False)
        self.move(tournament)
        try:
            yield
        finally:
            if self._progress is not None:
                with self._closing():
                    self._show(tournament.work_done, tournament.describe())

    def move(self, tournament: "Tournament") -> None:
        """Move the bar from time to time."""
        if self._is_due:
            self._show(tournament.work_done, tournament.describe())


class Tournament:
    """Runs candidates through the rungs.

    Parameters
    ----------
    candidates : list of Candidate
        The candidates.
    rungs : list of Rung
        The rungs, from ``plan_rungs``.
    error_score : "raise" or float
        Whether to raise if the fit of a candidate fails; otherwise the candidate is dropped.
    time_limit : float or None
        Seconds from the creation of this object.
    bar : SearchBar or None
        Shows the progress.

    Attributes
    ----------
    stop_reason : StopReason or None
        Why the tournament ended early; None if it did not.
    where : str
        The current rung and candidate, as text.
    """

    def __init__(
        self,
        candidates: list[Candidate],
        rungs: list[Rung],
        *,
        error_score: Any,
        time_limit: float | None,
        bar: SearchBar | None,
    ):
        self.candidates, self._rungs, self._error_score, self._bar = candidates, rungs, error_score, bar
        self._deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        self.stop_reason: StopReason | None = None
        self.work, self.work_done = sum(rung.n_candidates * rung.work for rung in rungs), 0.0
        self.where = f"{len(candidates)} candidates"

    def run(self, fit: Callable[[Any], Any]) -> Candidate:
        """Run all rungs; return the winner, or the leader if a time limit or an interrupt ends the tournament."""
        try:
            for rung in self._rungs:
                self._run_rung(rung, fit)
                if self.stop_reason:
                    break
        except KeyboardInterrupt:  # one that did not stop a fit
            if self.leader is None:
                raise
            self.stop_reason = StopReason.INTERRUPTED
        winner = self.leader
        assert winner is not None
        if not winner.has_ended:
            winner.held_model.stop_reason_ = "" if self.stop_reason is None else self.stop_reason.describe()
        return winner

    @property
    def leader(self) -> Candidate | None:
        """The candidate with the best score still in the tournament; None before the first score."""
        first = max(self.candidates, key=lambda candidate: candidate.place)
        return None if first.model is None or math.isnan(first.score) else first

    def describe(self) -> str:
        """Describe the state of the tournament."""
        best = f"best {self.leader.score:.4f}" if self.leader else ""
        return ", ".join(part for part in (self.where, best) if part)

    def _run_rung(self, rung: Rung, fit: Callable[[Any], Any]) -> None:
        ahead: list[Candidate] = []
        entrants = [candidate for candidate in self.candidates if candidate.model is not None]
        work_done = self.work_done
        for n_done, candidate in enumerate(entrants):
            if self._is_late and self.leader is not None:
                self.stop_reason = StopReason.TIME_LIMIT
                return
            self.where = f"rung {rung.number}/{len(self._rungs)}, candidate {n_done + 1}/{len(entrants)}"
            self._advance(candidate, rung, fit)
            if self.stop_reason:
                return
            self.work_done = work_done + rung.n_candidates * rung.work * (n_done + 1) / len(entrants)
            if candidate.model is not None:
                # Drop losers as soon as they are known, so that memory holds at most the survivors of a rung.
                ahead = sorted([*ahead, candidate], key=lambda candidate: -candidate.score)
                for loser in ahead[rung.n_survivors :]:
                    loser.model = None
                ahead = ahead[: rung.n_survivors]
        if not ahead:
            raise ValueError(f"The fits of all {len(self.candidates)} candidates failed: see the warnings.")

    def _advance(self, candidate: Candidate, rung: Rung, fit: Callable[[Any], Any]) -> None:
        candidate.rung = rung.number
        if candidate.has_ended:
            return
        work_done = self.work_done

        def report(share: float) -> None:
            self.work_done = work_done + rung.work * min(share, 1.0)
            if self._bar is not None:
                self._bar.move(self)

        remaining = None if math.isinf(self._deadline) else self._deadline - time.monotonic()
        try:
            rung_end = RungEnd(candidate, rung, report)
            candidate.train(fit, rung_end, remaining)
        except Exception as error:
            self._fail(candidate, error)
        else:
            reason = rung_end.fit_reason
            if reason is StopReason.INTERRUPTED or (reason is StopReason.TIME_LIMIT and self._is_late):
                self.stop_reason = reason

    def _fail(self, candidate: Candidate, error: Exception) -> None:
        if self._error_score == "raise":
            error.add_note(f"This happened in the fit of candidate {candidate.index} with {candidate.params!r}.")
            raise error
        candidate.model, candidate.score = None, math.nan
        warnings.warn(
            f"The fit of candidate {candidate.index} with {candidate.params!r} failed: {error!r}.",
            FitFailedWarning,
            stacklevel=7,
        )

    @property
    def _is_late(self) -> bool:
        return time.monotonic() >= self._deadline


def tabulate(candidates: list[Candidate], error_score: Any) -> dict[str, Any]:
    """Make a table with a row for each candidate; parameters that a candidate does not have are masked."""
    table: dict[str, Any] = {}
    for name in dict.fromkeys(name for candidate in candidates for name in candidate.params):
        column = np.empty(len(candidates), dtype=object)
        for row, candidate in enumerate(candidates):
            column[row] = candidate.params.get(name)
        table[f"param_{name}"] = np.ma.MaskedArray(column, [name not in candidate.params for candidate in candidates])
    failed = math.nan if error_score == "raise" else error_score
    ranked = sorted(candidates, key=lambda candidate: candidate.place, reverse=True)
    ranks = {candidate.index: rank for rank, candidate in enumerate(ranked, start=1)}
    return table | {
        "params": [candidate.params for candidate in candidates],
        "rung": np.array([candidate.rung for candidate in candidates]),
        "n_iterations": np.array([candidate.n_iterations for candidate in candidates]),
        "oop_score": np.array([failed if math.isnan(c.score) else c.score for c in candidates]),
        "fit_time": np.array([candidate.fit_time for candidate in candidates]),
        "rank": np.array([ranks[candidate.index] for candidate in candidates]),
    }
