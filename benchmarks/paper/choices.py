"""Which fits of a grid go on to the finals, and from there to the tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from benchmarks.contestants import OTHERS, OURS
from benchmarks.paper.ledger import Fit, Ledger


@dataclass(frozen=True, order=True)
class Member:
    """A member of a contestant's grid."""

    contestant: str
    settings: str
    n_trees: int


def member_of(fit: Fit) -> Member:
    """Tell what was fitted."""
    return Member(fit.contestant, fit.settings, fit.n_trees)


def rank(fits: Iterable[Fit], limit: float = float("inf")) -> list[Member]:
    """Put the members that took no longer in order, the most accurate first, of equal ones the fastest."""
    within = (fit for fit in fits if fit.cpu_seconds <= limit)
    return [member_of(fit) for fit in sorted(within, key=lambda fit: (-fit.accuracy, fit.cpu_seconds))]


def find_fastest(grids: Iterable[list[Fit]], accuracy: float) -> list[Member]:
    """Find each contestant's fastest member that is so accurate, the fastest of all first."""
    reaching = ([fit for fit in fits if fit.accuracy >= accuracy] for fits in grids)
    first = [min(fits, key=lambda fit: fit.cpu_seconds) for fits in reaching if fits]
    return [member_of(fit) for fit in sorted(first, key=lambda fit: fit.cpu_seconds)]


def find_winner(finalists: list[Fit]) -> list[Fit]:
    """Find the finalist with the best mean of accuracies over the seeds; return its fits."""
    runs: dict[Member, list[Fit]] = {}
    for fit in finalists:
        runs.setdefault(member_of(fit), []).append(fit)
    return max(
        runs.values(),
        key=lambda fits: (fmean(fit.accuracy for fit in fits), -fmean(fit.cpu_seconds for fit in fits)),
        default=[],
    )


def choose_winners(ledger: Ledger) -> dict[str, list[Fit]]:
    """Choose the member of each of ours that the tables show; return its fits as a finalist."""
    winners = {name: find_winner(ledger.find("finalist", name)) for name in OURS}
    return {name: fits for name, fits in winners.items() if fits}


@dataclass(frozen=True)
class Choices:
    """Who is in the finals of a data set, for which place in the tables.

    ``best`` are candidates for each contestant's best without a limit, ``within`` for the best of each of the others in
    the time of one of ours, by (ours, other), and ``fastest`` for the fastest of all others that are as accurate as one
    of ours.
    """

    best: dict[str, list[Member]]
    within: dict[tuple[str, str], list[Member]]
    fastest: dict[str, list[Member]]

    @property
    def members(self) -> list[Member]:
        """All of them, each once."""
        places = (*self.best.values(), *self.within.values(), *self.fastest.values())
        return sorted({member for place in places for member in place})


def choose(ledger: Ledger, n_candidates: int) -> Choices:
    """Choose by the fits of the grid, whose seed is the first; limits are the mean times of our finalists."""
    winners = choose_winners(ledger)
    grids = {other: ledger.find("grid", other) for other in OTHERS}
    best = {name: [member_of(fits[0])] for name, fits in winners.items()}
    best |= {other: rank(fits)[:n_candidates] for other, fits in grids.items()}
    within, fastest = {}, {}
    for ours, fits in winners.items():
        limit = fmean(fit.cpu_seconds for fit in fits)
        within |= {(ours, other): rank(grid, limit)[:n_candidates] for other, grid in grids.items()}
        first = min(fits, key=lambda fit: fit.seed)
        fastest[ours] = find_fastest(grids.values(), first.accuracy)[:n_candidates]
    return Choices(best, within, fastest)
