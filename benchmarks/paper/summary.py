"""What the fits of a member come to: means and standard deviations over the seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from benchmarks.contestants import OTHERS
from benchmarks.paper.choices import Choices, Member, choose, member_of
from benchmarks.paper.ledger import Fit, Ledger


@dataclass(frozen=True)
class Summary:
    """Accuracies in percent and seconds on the wall of a member's fits, one for each seed."""

    accuracies: tuple[float, ...]
    times: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """The mean of the accuracies."""
        return fmean(self.accuracies)

    @property
    def deviation(self) -> float:
        """Their standard deviation."""
        return _deviate(self.accuracies)

    @property
    def seconds(self) -> float:
        """The mean of the times."""
        return fmean(self.times)


def summarise(fits: list[Fit]) -> Summary:
    """Put the fits of a member together, in the order of the seeds."""
    ordered = sorted(fits, key=lambda fit: fit.seed)
    return Summary(tuple(fit.accuracy for fit in ordered), tuple(fit.wall_seconds for fit in ordered))


def is_tied(ours: Summary, other: Summary) -> bool:
    """Tell whether ours is behind by no more than a standard error of the difference, seed by seed."""
    differences = [a - b for a, b in zip(other.accuracies, ours.accuracies, strict=True)]
    return fmean(differences) <= _deviate(differences) / math.sqrt(len(differences))


@dataclass(frozen=True)
class SetResult:
    """What the tables say of a data set: of the candidates for a place, the one with the best mean in the finals."""

    name: str
    choices: Choices
    summaries: dict[Member, Summary]
    longest: float  # seconds of the longest fit of a grid of the others

    def best(self, contestant: str) -> Summary | None:
        """Give a contestant's best without a limit."""
        return self._pick(self.choices.best.get(contestant, []))

    def within(self, ours: str, other: str) -> Summary | None:
        """Give the best of one of the others in the time of one of ours."""
        return self._pick(self.choices.within.get((ours, other), []))

    def fastest(self, ours: str) -> tuple[str, Summary] | None:
        """Give the fastest of all finals of others that are as accurate as one of ours, after its name."""
        mine = self.best(ours)
        reaching = [
            (member.contestant, summary)
            for member, summary in self.summaries.items()
            if member.contestant in OTHERS and mine and summary.accuracy >= mine.accuracy
        ]
        return min(reaching, key=lambda found: found[1].seconds, default=None)

    def _pick(self, members: list[Member]) -> Summary | None:
        found = [self.summaries[member] for member in members if member in self.summaries]
        return max(found, key=lambda summary: (summary.accuracy, -summary.seconds), default=None)


def summarise_set(name: str, ledger: Ledger, n_candidates: int) -> SetResult:
    """Summarise the finals of a data set."""
    runs: dict[Member, list[Fit]] = {}
    for fit in ledger.find("final"):
        runs.setdefault(member_of(fit), []).append(fit)
    n_seeds = max(map(len, runs.values()), default=0)  # of finals that were interrupted, some members have fewer
    summaries = {member: summarise(fits) for member, fits in runs.items() if len(fits) == n_seeds}
    longest = max((fit.cpu_seconds for fit in ledger.find("grid") if fit.contestant in OTHERS), default=0.0)
    return SetResult(name, choose(ledger, n_candidates), summaries, longest)


def _deviate(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0
