"""Which rows are measured, in which order, and how long that should take."""

import time
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import numpy as np

from benchmarks.clean.fits import Task

#: Seconds that a row of each set takes with the default limit, by a pilot on a busy machine; the run corrects it.
EXPECTED = {
    "contraceptive": 6,
    "vehicle": 7,
    "german_credit": 13,
    "magic": 17,
    "parkinsons": 18,
    "bike sharing": 18,
    "jasmine": 19,
    "naval": 20,
    "bank_32nh": 20,
    "cpu act": 20,
    "spambase": 21,
    "colon": 22,
    "california housing": 22,
    "puma_32h": 28,
    "higgs": 33,
    "musk": 34,
    "telco_churn": 35,
    "hill-valley": 42,
    "melbourne_houses": 45,
    "waveform": 52,
    "dna": 62,
    "cnae_9": 68,
    "census_income": 72,
    "anneal": 80,
    "adult": 84,
    "allaml": 88,
    "glioma": 90,
    "libras": 92,
    "prostate_ge": 92,
    "arrhythmia": 94,
    "relathe": 102,
    "lymphoma": 106,
    "madelon": 107,
    "gas drift": 135,
    "mfeat_factors": 141,
    "MNIST 3 vs 8": 150,
    "letter": 170,
    "warp_pie10p": 171,
    "MNIST odd/even": 356,
    "CIFAR truck/car": 400,
    "MNIST": 420,
    "covertype": 595,
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
