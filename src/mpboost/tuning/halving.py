"""Successive halving: candidates compete over iterations, and the worst of them fall out at each rung."""

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from mpboost.boosting.callbacks import Callback
from mpboost.boosting.progress import Bar
from mpboost.boosting.run import BoostingRun
from mpboost.boosting.stop_reasons import StopReason

#: A score is averaged with so many on either side of it: one lucky iteration must not win a tournament.
NEIGHBOURS = 5


@dataclass
class Candidate:
    """Parameters in the tournament, and the model that is being trained with them.

    Attributes
    ----------
    index : int
        Place among the candidates.
    params : dict
        What is tried.
    model : estimator or None
        None once it has lost: with a model goes its binned data.
    rung : int
        The last rung that it was in, counted from 1; 0 if it was in none.
    score : float
        The smoothed out-of-patch score of the model as it stands; NaN before the first fit and where that failed.
    oop_votes : float
        How often a row was out of a minipatch, on average; of gradient models, how often those that are reserved were
        judged.
    """

    index: int
    params: dict[str, Any]
    model: Any
    rung: int = 0
    score: float = math.nan
    n_iterations: int = 0
    oop_votes: float = 0.0
    fit_time: float = 0.0
    has_ended: bool = False

    @property
    def place(self) -> tuple[bool, float, float, int]:
        """What ranks candidates: those still in the tournament by score, the others by how far they came."""
        is_running, failed = self.model is not None, math.isnan(self.score)
        return is_running, -1 if failed else 0 if is_running else self.rung, self.sortable_score, -self.index

    @property
    def sortable_score(self) -> float:
        """The score, NaN being the worst."""
        return -math.inf if math.isnan(self.score) else self.score

    def go_on(self, fit: Callable[[Any], Any], rung_end: "RungEnd", time_limit: float | None) -> None:
        """Train until a rung ends, or all is done; the parameters are then as they were."""
        model = self.model
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
                warnings.filterwarnings("ignore", "The fit was interrupted", RuntimeWarning)  # the search tells
                fit(model)
        finally:
            model.set_params(**own)
            self.fit_time += time.monotonic() - start
        self.n_iterations = model.n_iter_
        self.has_ended = not rung_end.ended_fit
        self.score = smooth_score(model)
        if math.isnan(self.score):
            raise ValueError(f"There is no out-of-patch score to choose by. {model._oop_advice}")


@dataclass(frozen=True)
class Rung:
    """A part of the tournament.

    Attributes
    ----------
    number : int
        Counted from 1.
    n_candidates, n_survivors : int
        How many enter it, and how many stay in the tournament.
    oop_votes : float
        When it ends for a candidate: after so many out-of-patch votes for the average row.
    work : float
        About how many iterations each candidate does in it.
    """

    number: int
    n_candidates: int
    n_survivors: int
    oop_votes: float
    work: float


def plan_rungs(n_candidates: int, n_estimators: int, factor: int, min_iterations: int) -> list[Rung]:
    """Let a candidate in ``factor`` stay after each rung, the next one being longer by that; the last has no end."""
    rungs: list[Rung] = []
    done, votes = 0, min_iterations
    while n_candidates > factor and votes < n_estimators:
        n_survivors = math.ceil(n_candidates / factor)
        rungs.append(Rung(len(rungs) + 1, n_candidates, n_survivors, votes, votes - done))
        done, votes, n_candidates = votes, votes * factor, n_survivors
    return [*rungs, Rung(len(rungs) + 1, n_candidates, 1, math.inf, n_estimators - done)]


def smooth_score(model: Any) -> float:
    """Average the out-of-patch score of a model with its neighbours on the curve."""
    best = model.best_iteration_
    return float(np.mean(model.oop_scores_[max(0, best - NEIGHBOURS) : best + NEIGHBOURS]))


class RungEnd(Callback):
    """Ends the fit of a candidate with a rung, counting out-of-patch votes.

    A row that was in all minipatches so far counts as wrong, and one of three votes is judged by these three. Of two
    candidates after the same iterations the one with the larger minipatches therefore looks worse than it is: on
    Madelon, after 20 of them, 58 % with nine tenths of the rows, which end at 84 %, against 66 % with a quarter of
    them, which end at 75 %. After as many out-of-patch votes it is 83 % against 69 %.
    """

    def __init__(self, candidate: Candidate, rung: Rung, report: Callable[[float], None]):
        self._candidate, self._rung, self._report = candidate, rung, report
        self._first_votes, self._first_iteration = candidate.oop_votes, candidate.n_iterations
        self._is_over = False
        self.fit_reason: StopReason | None = None

    @property
    def ended_fit(self) -> bool:
        """Whether the end of the rung is what ended the fit."""
        return self._is_over and self.fit_reason is StopReason.CALLBACK

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Count; tell how far the candidate is in this rung."""
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
        """Note why the fit ended."""
        self.fit_reason = run.stop_reason


class SearchBar(Bar):
    """A bar over all rungs, with the candidate at hand and the best score so far."""

    @contextmanager
    def watch(self, tournament: "Tournament") -> Iterator[None]:
        """Show the bar while a tournament is on."""
        self._open(tournament.work, shows_count=False)
        self.move(tournament)
        try:
            yield
        finally:
            if self._progress is not None:
                with self._closing():
                    self._show(tournament.work_done, tournament.describe())

    def move(self, tournament: "Tournament") -> None:
        """Move the bar now and then."""
        if self._is_due:
            self._show(tournament.work_done, tournament.describe())


class Tournament:
    """Candidates on their way through the rungs.

    Parameters
    ----------
    candidates : list of Candidate
        Who takes part.
    rungs : list of Rung
        See ``plan_rungs``.
    error_score : "raise" or float
        Whether a candidate whose fit fails ends the tournament; else it is out of it.
    time_limit : float or None
        Seconds from now on.
    bar : SearchBar or None
        Shows how it goes.

    Attributes
    ----------
    stop_reason : StopReason or None
        Why the tournament ended before its end; None if it did not.
    where : str
        The rung and the candidate at hand, in words.
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
        """Go through all rungs; give the winner, or whoever leads when time or an interrupt ends the tournament."""
        try:
            for rung in self._rungs:
                self._run_rung(rung, fit)
                if self.stop_reason:
                    break
        except KeyboardInterrupt:  # one that no fit could turn into its own end
            if self.leader is None:
                raise
            self.stop_reason = StopReason.INTERRUPTED
        winner = self.leader
        assert winner is not None
        if not winner.has_ended:
            winner.model.stop_reason_ = "" if self.stop_reason is None else self.stop_reason.describe()
        return winner

    @property
    def leader(self) -> Candidate | None:
        """Who has the best score of those still in the tournament; None before the first score."""
        first = max(self.candidates, key=lambda candidate: candidate.place)
        return None if first.model is None or math.isnan(first.score) else first

    def describe(self) -> str:
        """Tell how the tournament stands."""
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
                # Losers go as soon as they are known, so that no more than the survivors of a rung are held.
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
            candidate.go_on(fit, rung_end, remaining)
        except Exception as error:
            self._fail(candidate, error)
        else:
            reason = rung_end.fit_reason
            if reason is StopReason.INTERRUPTED or (reason is StopReason.TIME_LIMIT and self._is_late):
                self.stop_reason = reason

    def _fail(self, candidate: Candidate, error: Exception) -> None:
        if self._error_score == "raise":
            error.add_note(f"This was in the fit of candidate {candidate.index}, with {candidate.params!r}.")
            raise error
        candidate.model, candidate.score = None, math.nan
        warnings.warn(
            f"The fit of candidate {candidate.index}, with {candidate.params!r}, failed with {error!r}.",
            FitFailedWarning,
            stacklevel=7,
        )

    @property
    def _is_late(self) -> bool:
        return time.monotonic() >= self._deadline


def tabulate(candidates: list[Candidate], error_score: Any) -> dict[str, Any]:
    """Make a table, a row for each candidate; parameters that a candidate does not have are masked."""
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
