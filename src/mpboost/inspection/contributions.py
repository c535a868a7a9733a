"""Contributions of features to one output of a model, with what people need to read them."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost._wording import format_number, list_names, make_visible
from mpboost.data.tables import Table
from mpboost.estimators.explained import ExplainedBooster
from mpboost.estimators.inputs import check_table
from mpboost.inspection.checks import check_model
from mpboost.outputs.statistics import pick_rows


@dataclass(frozen=True)
class Contributions:
    """Contributions of features to one output.

    Attributes
    ----------
    values : array of shape (n_rows, n_features)
        The contributions.
    expected : array of shape (n_rows,)
        The expected output, which they add up to the output with.
    feature_names : list of str
        One for each feature.
    data : array of shape (n_rows, n_features)
        Values of the features, as numbers; codes of categories.
    shown : object array of shape (n_rows, n_features)
        Values of the features, as people know them.
    is_categorical : bool array of shape (n_features,)
        Which features are categorical.
    quantity : str
        What the output is called.
    """

    values: Floats
    expected: Floats
    feature_names: list[str]
    data: Floats
    shown: NDArray[Any]
    is_categorical: NDArray[np.bool_]
    quantity: str

    def __len__(self) -> int:
        return len(self.values)

    def rank_features(self) -> NDArray[np.intp]:
        """Rank the features by the mean size of their contributions, largest first."""
        return np.argsort(-np.abs(self.values).mean(axis=0), kind="stable")

    def rank_values(self, feature: int) -> Floats:
        """Rank the values of a feature from 0, the lowest, to 1; NaN for missing ones and for categories."""
        values = self.data[:, feature]
        ranks = np.full(len(values), np.nan)
        if not self.is_categorical[feature]:
            is_known = ~np.isnan(values)
            distinct, codes = np.unique(values[is_known], return_inverse=True)
            ranks[is_known] = codes / max(1, len(distinct) - 1)
        return ranks

    def show(self, row: int, feature: int) -> str:
        """Write the value of a feature in a row."""
        return show_value(self.shown[row, feature])


def show_value(value: Any) -> str:
    """Write a value of a feature.

    Examples
    --------
    >>> show_value(0.123456), show_value("red"), show_value(None)
    ('0.1235', 'red', 'missing')
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    return format_number(value) if isinstance(value, float) else make_visible(str(value)).replace("\n", " ")


def compute_explained(
    model: Any, X: Any, *, row: Any, class_label: Any, background: Any, max_rows: int
) -> Contributions:
    """Compute contributions for one row of a table, or for a sample of rows."""
    check_model(model)
    assert isinstance(model, ExplainedBooster)
    model._get_trees("Contributions explain")
    table = check_table(model, X)
    if row is None:
        rows = np.arange(table.n_rows) if table.n_rows <= max_rows else pick_rows(table.n_rows, max_rows)
    else:
        if not isinstance(row, Integral) or not -table.n_rows <= int(row) < table.n_rows:
            raise ValueError(f"There is no row {row!r}: X has {table.n_rows} rows.")
        rows = np.array([int(row) % table.n_rows])
    chosen = table.take_rows(rows)
    found = model._contribute(chosen, background)
    return pick_output(model, chosen, found, choose_class(model, found, class_label))


def pick_output(model: ExplainedBooster, table: Table, found: Floats, code: int) -> Contributions:
    """Pick the contributions to the output of a class, by its code, or to the number; describe the rows."""
    output = model._explained_output
    quantity = output.quantity
    chosen = found[:, 0 if output.n_outputs == 1 else code]
    if hasattr(model, "classes_"):
        quantity += f" {'for' if quantity.endswith('votes') else 'of'} {show_value(model.classes_[code])}"
        if output.n_outputs == 1 and code == 0:  # the other of two classes: shares add up to 1, log odds to 0
            chosen = -chosen
            chosen[:, -1] += 1.0 if output.kind == "signs" else 0.0
    names = model._name_features()
    data, shown = model._show_values(table)
    is_categorical = np.array([known is not None for known in names.categories])
    return Contributions(chosen[:, :-1], chosen[:, -1], names.names, data, shown, is_categorical, quantity)


def choose_class(model: ExplainedBooster, found: Floats, class_label: Any) -> int:
    """Choose the class to explain: the one asked for, the second of two, or that of a single row's highest output."""
    if not hasattr(model, "classes_"):
        if class_label is not None:
            raise ValueError("class_label is for classifiers: leave it out.")
        return 0
    classes = model.classes_
    if class_label is not None:
        places = np.flatnonzero(classes == class_label)
        if not len(places):
            raise ValueError(f"There is no class {class_label!r}. There are {list_names(classes.tolist())}.")
        return int(places[0])
    if len(classes) == 2:
        return 1
    if len(found) > 1:
        raise ValueError(
            f"There are {len(classes)} classes: choose one of them, class_label={classes.tolist()[0]!r}, say."
        )
    return int(found[0].sum(axis=1).argmax())


def spread_dots(places: Floats, width: float, n_bins: int = 60) -> Floats:
    """Spread dots that lie close together along a line to both sides of it; return offsets from -1 to 1.

    Parameters
    ----------
    places : array of shape (n_dots,)
        Where the dots are on the line.
    width : float
        Length of the line.

    Examples
    --------
    >>> spread_dots(np.array([0.0, 0.0, 0.0, 5.0]), 5.0)
    array([ 0., -1.,  1.,  0.])
    """
    bins = np.floor(places / (width or 1.0) * n_bins).astype(np.int64)
    order = np.lexsort((np.arange(len(places)), bins))
    starts = np.flatnonzero(np.diff(bins[order], prepend=bins[order[:1]] - 1)) if len(places) else np.empty(0, int)
    lengths = np.diff(starts, append=len(places))
    turns = np.arange(len(places)) - np.repeat(starts, lengths)  # 0, 1, 2, ... in each bin
    offsets = np.empty(len(places))
    offsets[order] = np.where(turns % 2, -1, 1) * ((turns + 1) // 2)
    return offsets / max(1.0, float(np.abs(offsets).max(initial=0.0)))
