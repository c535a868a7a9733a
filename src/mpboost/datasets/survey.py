"""The first pass over the rows of a dataset: counts rows, draws the sample that bins come from, unites categories."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost import _native
from mpboost.data.categories import Categories, Factors, Key, choose_categories, count_categories
from mpboost.data.checks import refuse_odd_numbers
from mpboost.data.tables import join_mappers, split_codes
from mpboost.datasets.batches import Batch
from mpboost.datasets.known import Known
from mpboost.datasets.reading import BatchReader, Kind, named_errors
from mpboost.datasets.targets import TargetSurvey, read_weights

#: The most categories of a feature that are counted; beyond, the rarest of them are forgotten.
MAX_COUNTED = 1 << 20

#: Sampled rows that are kept at a time; of these, about 200 000 are left in the end.
MAX_SAMPLED = 300_000


@dataclass
class Survey:
    """What the first pass finds.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    targets : TargetSurvey or None
        What the targets are; None if there are none.
    has_weights : bool
        Whether rows have weights.
    checksums : list of int
        A number for each batch, by which a source that changes between the passes is noticed.
    """

    n_rows: int = 0
    targets: TargetSurvey | None = None
    has_weights: bool = False
    checksums: list[int] = field(default_factory=list)

    def join(self, other: "Survey") -> None:
        """Take in what a survey of the rows that follow found."""
        self.n_rows += other.n_rows
        self.has_weights = other.has_weights
        self.checksums += other.checksums
        if other.targets is not None:
            self.targets = self.targets or TargetSurvey()
            self.targets.join(other.targets)


def survey_batches(
    batches: Iterable[Batch], features: "FeatureSurvey | None", move: Callable[[int, int], None] | None = None
) -> Survey:
    """Read all rows once.

    Parameters
    ----------
    batches : iterable of Batch
        The rows.
    features : FeatureSurvey or None
        Looks at the features; None if they are known already, and only rows and targets are looked at.
    move : callable or None
        Called after each batch, with the number of its rows and that of the features.
    """
    survey = Survey()
    for batch in batches:
        with named_errors(batch.place):
            n_rows = count_rows(batch.X)
            if n_rows == 0:
                continue
            weights = read_weights(batch.sample_weight, n_rows)
            is_first = not survey.checksums
            if not is_first and ((batch.y is None) != (survey.targets is None)):
                raise ValueError("some batches have targets, and others have none.")
            if not is_first and ((weights is None) == survey.has_weights):
                raise ValueError("some batches have weights, and others have none.")
            survey.has_weights = weights is not None
            if batch.y is not None:
                survey.targets = survey.targets or TargetSurvey()
                survey.targets.add(batch.y, n_rows)
            checksum = n_rows
            if features is not None:
                columns, checksum = features.reader.read(batch.X, batch.place)
                features.add(columns, n_rows, weights)
        survey.checksums.append(checksum)
        survey.n_rows += n_rows
        if move is not None:
            move(n_rows, 0 if features is None else len(features.reader.kinds))
    if survey.n_rows == 0:
        raise ValueError("There are no rows: a dataset needs at least one.")
    if survey.targets is not None:
        with refuse_odd_numbers():
            survey.targets.finish()
    return survey


def count_rows(X: Any) -> int:
    """Count the rows of a batch."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else len(X)


class FeatureSurvey:
    """Collects what bins and categories are learned from.

    Parameters
    ----------
    reader : BatchReader
        Reads batches, and knows the kinds of features.
    first_row : int
        Number of rows, with a weight above 0, before the first batch.
    n_total : int or None
        Number of such rows in all, if it is known.
    """

    def __init__(self, reader: BatchReader, first_row: int = 0, n_total: int | None = None):
        self.reader = reader
        self._first_row, self._n_total = first_row, n_total
        self._numbers: dict[Any, SampledNumbers] = {}
        self._categories: dict[Any, CategoryCounts] = {}
        self._n_rows = self._n_present = 0
        self._rows = np.empty(0, dtype=np.int64)  # the sampled ones, among those with a weight above 0

    def add(self, columns: dict[Any, NDArray[Any] | Factors], n_rows: int, weights: NDArray[np.float64] | None) -> None:
        """Look at a batch; rows of weight 0 do not count."""
        is_present = None if weights is None else weights > 0
        present = None if is_present is None else np.flatnonzero(is_present)
        n_before = len(self._rows)
        rows = self._sample(n_rows if present is None else len(present))
        rows = rows if present is None else present[rows]
        for name, column in columns.items():
            if isinstance(column, Factors):
                self._numbers.pop(name, None)  # all were missing
                counts = self._categories.setdefault(name, CategoryCounts(name, is_float=self._n_rows > 0))
                counts.add(column, is_present)
            else:
                numbers = self._numbers.setdefault(
                    name, SampledNumbers(n_before, is_part=bool(self.reader.name_source(name)[1]))
                )
                numbers.add(column, rows, present)
        for name in self._numbers.keys() - columns.keys():
            self._numbers[name].add_missing(len(rows))
        for name in self._categories.keys() - columns.keys():
            self._categories[name].is_float = True
        self._n_rows += n_rows
        if len(self._rows) > MAX_SAMPLED:
            self._forget()

    def join(self, other: "FeatureSurvey", place: str) -> None:
        """Take in what a survey of the rows that follow found, as if this one had looked at them."""
        self.reader.join(other.reader, place)
        kinds, n_before, n_sampled = self.reader.kinds, len(self._rows), len(other._rows)
        for name, counts in other._categories.items():
            if kinds.get(name) is Kind.CATEGORIES:
                self._numbers.pop(name, None)  # all were missing
                self._categories.setdefault(name, CategoryCounts(name, is_float=self._n_rows > 0)).join(counts)
        for name, numbers in other._numbers.items():
            if kinds.get(name) is Kind.NUMBERS:
                self._numbers.setdefault(name, SampledNumbers(n_before, is_part=numbers.is_part)).join(numbers)
        joined = {name for name in other._numbers if kinds.get(name) is Kind.NUMBERS}
        for name in self._numbers.keys() - joined:
            self._numbers[name].add_missing(n_sampled)
        for name in self._categories.keys() - other._categories.keys() - other._numbers.keys():
            self._categories[name].is_float = True
        self._rows = np.concatenate([self._rows, other._rows])
        self._n_rows += other._n_rows
        self._n_present += other._n_present

    def _sample(self, n_present: int) -> NDArray[np.int64]:
        """Draw some of the next rows; return their places among these."""
        first = self._first_row + self._n_present
        self._n_present += n_present
        drawn = _native.sample_rows(first, n_present, self._n_total or first + n_present)
        self._rows = np.concatenate([self._rows, drawn])
        return drawn - first

    def _forget(self) -> None:
        """Forget sampled rows that are not in the sample of all rows so far."""
        n_total = self._n_total or self._first_row + self._n_present
        sample = _native.sample_rows(self._first_row, self._n_present, n_total)
        if len(sample) == len(self._rows):  # what was drawn before has all of it
            return
        kept = np.isin(self._rows, sample)
        self._rows = self._rows[kept]
        for numbers in self._numbers.values():
            numbers.keep(kept)

    def finish(self, max_bins: int, threads: _native.Threads) -> Known:
        """Learn bins and categories."""
        if self._n_present == 0:
            raise ValueError("All rows have weight 0: at least one must count.")
        self._forget()
        names = self._choose_features()
        categories = [
            self._categories[name].choose(max_bins) if self.reader.kinds[name] is Kind.CATEGORIES else None
            for name in names
        ]
        mappers = threads.map(partial(self._fit_mapper, max_bins), list(zip(names, categories, strict=True)))
        features: dict[str, Any] = {
            "n_features_in_": len(names),
            "feature_names_in_": np.array(names, dtype=object) if _are_text(names) else None,
            "is_categorical_": None,
            "categories_": None,
            "has_other_category_": None,
        }
        if any(each is not None for each in categories):
            features["is_categorical_"] = np.array([each is not None for each in categories])
            features["categories_"] = [None if each is None else each.values for each in categories]
            features["has_other_category_"] = np.array([each is not None and each.has_other for each in categories])
        return Known(features, join_mappers(mappers), max_bins)

    def _fit_mapper(self, max_bins: int, feature: tuple[Any, Categories | None]) -> _native.BinMapper:
        """Compute the bins of a feature, given its name and categories, in a thread of several."""
        name, categories = feature
        if categories is not None:
            return _native.BinMapper(*split_codes(categories.n_codes))
        return self._numbers[name].fit_mapper(max_bins)

    def _choose_features(self) -> list[Any]:
        """Leave out parts of dates that never change, as a fit in memory does; keep one of each date."""
        parts: dict[Any, list[Any]] = {}
        for name, numbers in self._numbers.items():
            if numbers.is_part:
                parts.setdefault(self.reader.name_source(name)[0], []).append(name)
        left_out = set()
        for names in parts.values():
            constant = [name for name in names if self._numbers[name].is_constant]
            left_out |= set(constant[1:] if len(constant) == len(names) else constant)
        return [name for name in self.reader.kinds if name not in left_out]


class SampledNumbers:
    """A column of numbers: the sampled ones, and what else its bins depend on.

    Parameters
    ----------
    n_before : int
        Number of sampled rows of batches that did not have the column.
    is_part : bool
        Whether the column is a part of dates.
    """

    def __init__(self, n_before: int, *, is_part: bool):
        self.is_part = is_part
        self.is_constant = is_part and not n_before
        self._pieces = [np.full(n_before, np.nan, dtype=np.float32)] if n_before else []
        self._dtype: np.dtype[Any] = np.dtype(np.float32 if n_before else np.bool_)
        self._maximum = 0
        self._first: float | None = None

    def add(self, values: NDArray[Any], rows: NDArray[np.int64], present: NDArray[np.int64] | None) -> None:
        """Add a batch; some of its rows are sampled."""
        self._pieces.append(values[rows])
        self._dtype = np.result_type(self._dtype, values.dtype)
        if values.dtype == np.uint8:
            self._maximum = max(self._maximum, int((values if present is None else values[present]).max(initial=0)))
        if self.is_constant:
            self._first = float(values[0]) if self._first is None else self._first
            self.is_constant = bool((values == self._first).all())

    def add_missing(self, n_sampled: int) -> None:
        """Add a batch that lacks the column; so many of its rows are sampled."""
        self._pieces.append(np.full(n_sampled, np.nan, dtype=np.float32))
        self._dtype = np.result_type(self._dtype, np.float32)
        self.is_constant = False

    def join(self, other: "SampledNumbers") -> None:
        """Add what is known of the same column in the rows that follow."""
        self._pieces += other._pieces
        self._dtype = np.result_type(self._dtype, other._dtype)
        self._maximum = max(self._maximum, other._maximum)
        self._first = other._first if self._first is None else self._first
        self.is_constant &= other.is_constant and self._first == other._first

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Keep some of the sampled values."""
        self._pieces = [np.concatenate(self._pieces)[kept]]

    def fit_mapper(self, max_bins: int) -> _native.BinMapper:
        """Compute the edges of the bins, by this thread alone."""
        if self._dtype == np.uint8 and max_bins == 255:  # such numbers are their own codes
            edges = np.arange(0.5, min(self._maximum, 254), dtype=np.float64)
            return _native.BinMapper(edges, np.array([0, len(edges)], dtype=np.int64))
        values = np.concatenate(self._pieces)
        if values.dtype != np.float32:
            values = values.astype(np.float64, copy=False)
        return _native.BinMapper.fit(values[:, None], max_bins, _native.Threads(1))


class CategoryCounts:
    """A column of categories: the number of rows that have each.

    Parameters
    ----------
    name : str
        Name of the column.
    is_float : bool
        Whether its numbers are floats, if it has numbers: some batches have floats there, or nothing.
    """

    def __init__(self, name: Any, *, is_float: bool):
        self._name = name
        self.is_float = is_float
        self._has_forgotten = False
        self.counts: dict[Key, int] = {}

    def add(self, factors: Factors, rows: NDArray[np.bool_] | None) -> None:
        """Add a batch; ``rows`` are those that count."""
        count_categories(factors, self.counts, rows)
        self.is_float |= any(type(value) is float for value in factors.values)
        self._forget()

    def join(self, other: "CategoryCounts") -> None:
        """Add the counts of the rows that follow."""
        for key, count in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        self.is_float |= other.is_float
        self._has_forgotten |= other._has_forgotten
        self._forget()

    def _forget(self) -> None:
        """Forget the rarest categories if there are too many."""
        if len(self.counts) <= MAX_COUNTED:
            return
        if not self._has_forgotten:
            self._has_forgotten = True
            warnings.warn(
                f"Column {self._name!r} has more than {MAX_COUNTED} categories: rare ones are forgotten while the "
                "others are counted. If it numbers the rows, leave it out (columns=, on the command line --drop).",
                stacklevel=6,
            )
        frequent = sorted(self.counts, key=lambda key: -self.counts[key])[: MAX_COUNTED // 2]
        self.counts = {key: self.counts[key] for key in frequent}

    def choose(self, max_codes: int) -> Categories:
        """Choose the categories that get codes of their own."""
        counts = self.counts
        if self.is_float:  # as in one column of numbers
            counts = {float(key) if type(key) is int else key: count for key, count in counts.items()}
        chosen = choose_categories(counts, max_codes)
        if not self._has_forgotten or chosen.has_other:
            return chosen
        if len(chosen.values) < max_codes:
            return Categories(chosen.values, has_other=True)
        return choose_categories(counts, max_codes - 1)


def _are_text(names: list[Any]) -> bool:
    """Check whether names are text: others do not count as names, as in scikit-learn."""
    return all(isinstance(name, str) for name in names)
