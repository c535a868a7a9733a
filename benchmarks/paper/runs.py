"""The runs: the grids of all contestants with one seed, ours with all seeds, then what the tables show, in turns."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.contestants import CONTESTANTS, OURS, Settings, find_installed
from benchmarks.contestants.clock import StageClock, read_clocks, would_go_on
from benchmarks.data.sets import load_set, split
from benchmarks.data.split_set import SplitSet
from benchmarks.paper.choices import Member, choose, rank
from benchmarks.paper.config import Config, SetPlan
from benchmarks.paper.ledger import Fit, Ledger, read_settings, write_settings

#: The other weightings of the paper's Table I; the case study's choice, soft logistic, is in the grid.
OTHER_WEIGHTINGS = ("exponential", "hard_logistic", "hard_exponential")

#: Takes tasks, each with a description, and does them one after the other.
Doer = Callable[[list[tuple[str, Callable[[], None]]]], None]


class SetRun:
    """The runs on a data set; what its ledger has is not run again."""

    def __init__(self, config: Config, plan: SetPlan, do: Doer):
        self.config, self.plan, self._do = config, plan, do
        self.ledger = Ledger(config.results / plan.file)
        self.contestants = find_installed(config.contestants)
        self._arrays = load_set(plan.name)
        self._prepare = functools.lru_cache(maxsize=2)(self._make_split_set)

    def run_grids(self) -> None:
        """Fit all members of all grids with the first seed, then the best of ours with all."""
        self._run_members()
        self._run_weightings()
        self._run_finalists()

    def run_finals(self) -> None:
        """Fit what the tables show with all seeds, contestants in turns."""
        members = choose(self.ledger, self.plan.n_candidates).members
        self._do(_present(self._plan_fit("final", member, seed) for seed in self.config.seeds for member in members))

    def _run_members(self) -> None:
        seed = self.config.seeds[0]
        n_columns = self._prepare("PAPER", seed).X_train.shape[1]
        paper = [name for name in self.contestants if name == "PAPER"]
        plain = [
            self._plan_fit("grid", Member(name, write_settings(settings), 0), seed)
            for name in paper
            for settings in CONTESTANTS[name].list_members(self.config.paper_grid)
            if settings["m"] == "sqrt" or settings["m"] <= n_columns
        ]
        climbs = [
            self._plan_climb(name, settings, seed)
            for name in self.contestants
            if name not in OURS
            for settings in CONTESTANTS[name].list_members(self.plan.grid)
        ]
        self._do(_present(plain))
        self._do(_present(climbs))

    def _run_weightings(self) -> None:
        """Fit the best of the paper's grid with the other weightings."""
        tasks = []
        for member in self._find_finalists(self.config.n_finalists, only="logistic"):
            for weighting in OTHER_WEIGHTINGS:
                settings = write_settings(read_settings(member.settings) | {"L": weighting})
                tasks.append(self._plan_fit("grid", replace(member, settings=settings), self.config.seeds[0]))
        self._do(_present(tasks))

    def _run_finalists(self) -> None:
        """Fit the best of the paper's grid, some of them for longer, and our defaults, with all seeds."""
        members = self._find_finalists(self.config.n_finalists)
        if "PAPER, long" in self.contestants:
            members += [
                replace(member, contestant="PAPER, long", n_trees=self.config.long_run)
                for member in members[: self.config.n_long]
            ]
        defaults = [name for name in self.contestants if name in OURS and not name.startswith("PAPER")]
        members += [Member(name, write_settings({}), 0) for name in defaults]
        self._do(_present(self._plan_fit("finalist", member, seed) for seed in self.config.seeds for member in members))

    def _find_finalists(self, n_members: int, only: str | None = None) -> list[Member]:
        fits = self.ledger.find("grid", "PAPER")
        chosen = [fit for fit in fits if only in (None, read_settings(fit.settings)["L"])]
        return rank(chosen)[:n_members]

    def _make_split_set(self, contestant: str, seed: int) -> SplitSet:
        split_set = split(self.plan.name, self._arrays, seed).encode()
        prepare = CONTESTANTS[contestant].prepare
        return replace(split_set, X_train=prepare(split_set.X_train), X_test=prepare(split_set.X_test))

    def _plan_fit(self, phase: str, member: Member, seed: int) -> tuple[str, Callable[[], None]] | None:
        """Plan a plain fit, unless it is in the ledger."""
        contestant = CONTESTANTS[member.contestant]
        if self.ledger.has(phase, member.contestant, contestant.version, member.settings, member.n_trees, seed):
            return None

        def fit() -> None:
            if phase == "grid" and any(known.accuracy == 100.0 for known in self.ledger.find(phase, member.contestant)):
                return  # nothing is better than always right
            split_set = self._prepare(member.contestant, seed)
            model = contestant.make_member(read_settings(member.settings), member.n_trees, seed)
            with threadpool_limits(1):
                start = read_clocks()
                model.fit(split_set.X_train, split_set.y_train)
                end = read_clocks()
                accuracy = score(model.predict(split_set.X_test), split_set)
            times = end.wall - start.wall, end.cpu - start.cpu
            self._record(phase, member, seed, [(member.n_trees, accuracy, *times)])

        return f"{self.plan.name}: {phase}, {member.contestant}", fit

    def _plan_climb(self, name: str, settings: Settings, seed: int) -> tuple[str, Callable[[], None]] | None:
        """Plan a fit with a look at each stage, unless it is in the ledger and would not go on now."""
        contestant, member = CONTESTANTS[name], Member(name, write_settings(settings), 0)
        known = [
            fit
            for fit in self.ledger.find("grid", name)
            if (fit.version, fit.settings, fit.seed) == (contestant.version, member.settings, seed)
        ]
        if any(fit.ended and not would_go_on(fit.ended, self.plan.cap) for fit in known):
            return None
        seen = {fit.n_trees for fit in known}

        def climb() -> None:
            split_set = self._prepare(name, seed)
            clock = StageClock(self.plan.grid.stages, self.plan.cap)
            with threadpool_limits(1):
                stages = contestant.climb(settings, split_set, seed, clock)
                accuracies = {n_trees: score(labels, split_set) for n_trees, labels in stages}
            times = ((t, accuracies[t], clock.reached[t].wall, clock.reached[t].cpu) for t in sorted(accuracies))
            self._record("grid", member, seed, [each for each in times if each[0] not in seen], clock.verdict)

        return f"{self.plan.name}: grid, {name}", climb

    def _record(
        self, phase: str, member: Member, seed: int, stages: list[tuple[int, float, float, float]], ended: str = ""
    ) -> None:
        """Add the fits of one model to the ledger; the last of them tells why there is no more."""
        version = CONTESTANTS[member.contestant].version
        fits = [
            Fit(
                self.plan.name, phase, member.contestant, version, member.settings, n_trees, seed, accuracy,
                round(wall, 4), round(cpu, 4),
            )
            for n_trees, accuracy, wall, cpu in stages
        ]  # fmt: skip
        self.ledger.add([*fits[:-1], replace(fits[-1], ended=ended)] if fits else [])


def score(labels: np.ndarray, split_set: SplitSet) -> float:
    """Tell the accuracy on test rows in percent."""
    return round(100.0 * float(np.mean(np.ravel(labels) == split_set.y_test)), 4)


def _present(tasks: Iterable[tuple[str, Callable[[], None]] | None]) -> list[tuple[str, Callable[[], None]]]:
    return [task for task in tasks if task]
