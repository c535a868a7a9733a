"""Builds the file of a dataset: two passes over its rows, each with a progress bar."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpboost._bars import Bar
from mpboost._threads import make_threads
from mpboost._wording import format_number
from mpboost.datasets.batches import Batches
from mpboost.datasets.coding import check_room, write_dataset
from mpboost.datasets.dataset_file import make_content
from mpboost.datasets.known import Known
from mpboost.datasets.reading import BatchReader
from mpboost.datasets.survey import FeatureSurvey, survey_batches


@dataclass(frozen=True)
class BuildOptions:
    """How a dataset is built.

    Attributes
    ----------
    categorical_features, max_bins, n_jobs, verbose
        As the parameters of ``BinnedDataset.from_parquet``.
    like : Known or None
        Features, categories and bins to take over.
    target_name : str or None
        Name of the target.
    table_habits : str or None
        How the command line read the table.
    """

    categorical_features: Any
    max_bins: int
    like: Known | None
    n_jobs: int | None
    verbose: int
    target_name: str | None = None
    table_habits: str | None = None


def build_dataset(path: Path, batches: Batches, options: BuildOptions) -> None:
    """Read the rows twice and write the file of a dataset."""
    threads, like = make_threads(options.n_jobs), options.like
    features = None if like is not None else FeatureSurvey(BatchReader(options.categorical_features))
    n_seen = 0
    with _show_pass("looking at", batches.n_rows, options.verbose) as show:

        def look(n_rows: int, n_features: int) -> None:
            nonlocal n_seen
            n_seen += n_rows
            check_room(path.parent, n_seen, n_features if like is None else int(like.features["n_features_in_"]))
            show(n_rows)

        survey = survey_batches(batches, features, look)
    known = like if features is None else features.finish(options.max_bins, threads)
    assert known is not None
    content = make_content(
        known, survey.n_rows, survey.targets, options.target_name, survey.has_weights, options.table_habits
    )
    reader = None if features is None else features.reader
    with _show_pass("coding", survey.n_rows, options.verbose) as show:
        write_dataset(path, content, survey, batches, reader, lambda n_rows, _: show(n_rows), threads)


class _PassBar(Bar):
    """A progress bar of a pass over rows: rows, rows per second and the time left."""

    def __init__(self, words: str, n_rows: int | None):
        super().__init__()
        self._words, self._total = words, n_rows
        self._start, self._n_done = time.monotonic(), 0
        self._open(n_rows if n_rows is not None else 0, shows_count=False)

    def move(self, n_rows: int) -> None:
        self._n_done += n_rows
        if self._is_due:
            self._draw()

    def _draw(self) -> None:
        seconds = max(time.monotonic() - self._start, 1e-9)
        whole = f" of {format_number(self._total)}" if self._total is not None else ""
        speed = format_number(self._n_done / seconds)
        words = f"{self._words} {format_number(self._n_done)}{whole} rows, {speed} a second"
        self._show(self._n_done, words)

    def close(self) -> None:
        if self._progress is not None:
            with self._closing():
                self._draw()


@contextmanager
def _show_pass(words: str, n_rows: int | None, verbose: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; yield a function that moves it by some rows."""
    if not verbose:
        yield lambda n_rows: None
        return
    bar = _PassBar(words, n_rows)
    try:
        yield bar.move
    finally:
        bar.close()


@contextmanager
def sink_lazy_frame(frame: Any, file: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Write the rows of a lazy frame to a Parquet file for a while: it is computed only once."""
    folder = None if file is None else Path(os.path.abspath(file)).parent
    handle, name = tempfile.mkstemp(prefix=".mpboost-", suffix=".parquet", dir=folder)
    os.close(handle)
    try:
        frame.sink_parquet(name)
        yield Path(name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
