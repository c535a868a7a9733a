"""Which rows are measured, in which order, and how long that should take."""

import time
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import numpy as np

from benchmarks.clean.fits import Task

#: Seconds that a row of each set takes with a limit of 60 s for a fit of a peer: a guess, which the run corrects.
EXPECTED = {
    "vehicle": 6,
    "german_credit": 8,
    "contraceptive": 8,
    "musk": 10,
    "bank_32nh": 10,
    "parkinsons": 10,
    "anneal": 12,
    "spambase": 12,
    "jasmine": 12,
    "puma_32h": 12,
    "naval": 12,
    "hill-valley": 15,
    "cpu act": 15,
    "waveform": 15,
    "telco_churn": 20,
    "colon": 20,
    "bike sharing": 20,
    "magic": 20,
    "california housing": 25,
    "dna": 25,
    "higgs": 30,
    "madelon": 40,
    "melbourne_houses": 45,
    "adult": 50,
    "libras": 60,
    "cnae_9": 60,
    "census_income": 60,
    "relathe": 60,
    "prostate_ge": 65,
    "allaml": 70,
    "arrhythmia": 80,
    "mfeat_factors": 100,
    "glioma": 125,
    "lymphoma": 125,
    "warp_pie10p": 125,
    "gas drift": 130,
    "MNIST 3 vs 8": 220,
    "letter": 250,
    "MNIST odd/even": 450,
    "CIFAR truck/car": 530,
    "MNIST": 600,
    "covertype": 800,
}


def order_sets(names: Iterable[str]) -> list[str]:
    """Put sets that are fitted quickly first."""
    return sorted(names, key=EXPECTED.__getitem__)


def list_tasks(names: Iterable[str], n_seeds: int, known: Collection[tuple[str, int]], minutes: float) -> list[Task]:
    """List the rows that are not known: the first seed of all sets, then the next one, small sets first.

    A row that would not be done by the end of the minutes may not begin.
    """
    end = time.time() + 60.0 * minutes
    ordered = order_sets(names)
    rows = [(name, seed) for seed in range(n_seeds) for name in ordered]
    return [Task(name, seed, end - EXPECTED[name]) for name, seed in rows if (name, seed) not in known]


class Forecast:
    """Says when a run will have ended, by how long its rows have taken beside what was expected of them."""

    def __init__(self, tasks: Sequence[Task], n_workers: int, minutes: float):
        self._n_workers, self._start = n_workers, time.time()
        self._last_end = self._start + 60.0 * minutes
        self._done, self._left = 0.0, sum(EXPECTED[task.set_name] for task in tasks)

    def note(self, task: Task, *, was_run: bool) -> None:
        """Note that a row is done, or was left out."""
        self._left -= EXPECTED[task.set_name]
        self._done += EXPECTED[task.set_name] if was_run else 0.0

    def __str__(self) -> str:
        elapsed = time.time() - self._start
        pace = elapsed / self._done if self._done else 1.0 / self._n_workers
        left = max(0.0, min(self._left * pace, self._last_end - time.time()))
        end = datetime.fromtimestamp(time.time() + left)
        return f"{elapsed / 60:.1f} min done, about {np.ceil(left / 60):.0f} min left, end at {end:%H:%M}"
