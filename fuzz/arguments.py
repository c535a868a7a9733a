"""Makes labels, weights and parameters, valid and invalid."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuzz.generators import (
    SPECIAL,
    LieError,
    Rng,
    Silent,
    chance,
    draw_numbers,
    draw_objects,
    lay_out,
    make_nonsense,
    pick,
)
from mpboost import Callback, FeatureProbabilityRecorder

#: Pairs of classes of all kinds.
CLASSES: list[tuple[Any, Any]] = [
    (0, 1),
    (-1, 1),
    (False, True),
    ("no", "yes"),
    ("", "a"),
    (0.0, 1.0),
    (3, 7),
    (b"a", b"b"),
    (-0.0, 5.0),
    (2**63 - 1, -(2**63)),
    (2**64 - 1, 0),
    (1e308, -1e308),
    (5e-324, 0.0),
    (0.5, 1.5),
    (np.inf, 1.0),
    (1, "a"),
    (True, "a"),
    (10**30, 1),
    (0, None),
    (0.0, np.nan),
    ((1, 2), (3, 4)),
    (pd.Timestamp(0), pd.Timestamp(1)),
    ("\ud800", "a"),
    ("x" * 300, "y"),
]


#: More than two classes, of some kinds.
MANY_CLASSES: list[Any] = [
    range(3),
    range(-2, 3),
    range(40),
    ["a", "b", ""],
    [0.0, 1.0, 7.0],
    [b"a", b"b", b"c"],
    [2**63 - 1, -(2**63), 0],
    [10**30, 1, 2],
    [1, "a", None],
    [False, True, 2],
    [1e308, -1e308, 0.0],
    [0.5, 1.5, 2.5],
    [(1, 2), (3, 4), (5, 6)],
    ["x" * 300, "y", "\ud800"],
]


def draw_labels(rng: Rng, n_rows: int, *, is_wild: bool) -> Any:
    """Draw labels of rows: plain classes as an array or a list, or anything."""
    two, many = pick(rng, CLASSES if is_wild else CLASSES[:7]), pick(rng, MANY_CLASSES[: None if is_wild else 5])
    classes = two if chance(rng, 0.6) else many
    codes = rng.integers(len(classes), size=n_rows)
    if n_rows > 1:
        codes[rng.permutation(n_rows)[:2]] = 0, 1
    if not is_wild:
        labels = np.array(classes)[codes]
        return labels.tolist() if chance(rng, 0.1) else labels
    kind = int(rng.integers(12))
    if kind < 4:
        return _pack(rng, codes, classes)
    if kind == 4:
        return rng.integers(int(rng.integers(1, 9)), size=n_rows)
    if kind == 5:
        return draw_numbers(rng, (n_rows,))
    if kind == 6:
        return np.array([*draw_objects(rng, n_rows), None], dtype=object)[:-1]
    if kind == 7:
        return codes[: n_rows - 1] if chance(rng, 0.5) else np.append(codes, [0, 1])
    if kind == 8:
        columns = np.column_stack([codes, 1 - codes])
        return pick(rng, [codes[:, None], columns, columns.T, pd.DataFrame(columns), columns.tolist(), codes[None, :]])
    if kind == 9:
        make = pick(rng, [sparse.csr_array, sparse.coo_matrix, sparse.csc_matrix])
        return make(codes[:, None] if chance(rng, 0.5) else codes[None, :])
    if kind == 10:
        return lay_out(rng, codes.astype(pick(rng, "?bBhHlLefdgFOU"))[:, None])[..., 0]
    return make_nonsense(rng, n_rows, 2)


def draw_values(rng: Rng, n_rows: int, *, is_wild: bool) -> Any:
    """Draw numbers to predict: plain ones as an array or a list, or anything."""
    values = rng.normal(size=n_rows)
    if not is_wild:
        scale = pick(rng, [1.0, 1.0, 1e-3, 1e9, 1e99, 1e-300, 0.0])
        sizes = np.abs(values)  # some losses need numbers above 0
        values = pick(rng, [scale * values, scale * sizes, sizes, values.round(), values + 1e9, sizes > 1, values**9])
        return values.tolist() if chance(rng, 0.1) else values
    kind = int(rng.integers(8))
    if kind == 0:
        numbers = pick(rng, [[0, 1.5, -2], [1e300, 0, 1], [0, 1, np.nan], *MANY_CLASSES])
        return _pack(rng, rng.integers(3, size=n_rows), numbers)
    if kind == 1:
        strange = [np.nan, np.inf, -np.inf, 1e100, -1e101, 1.7e308, 5e-324]
        return np.where(rng.random(n_rows) < rng.random(), pick(rng, strange), values)
    if kind == 2:
        return draw_numbers(rng, (n_rows,))
    if kind == 3:
        return np.array([*draw_objects(rng, n_rows), None], dtype=object)[:-1]
    if kind == 4:
        return values[: n_rows - 1] if chance(rng, 0.5) else np.append(values, [0, 1])
    if kind == 5:
        two = np.column_stack([values, values])
        return pick(rng, [values[:, None], two, values[None, :], pd.DataFrame({"y": values}), two.tolist()])
    if kind == 6:
        return lay_out(rng, values.astype(pick(rng, "?bhlefdgFOU"))[:, None])[..., 0]
    return draw_labels(rng, n_rows, is_wild=True)


def _pack(rng: Rng, codes: Any, classes: Any) -> Any:
    """Convert targets to a container of some library, if it accepts them."""
    values = [classes[code] for code in codes]
    objects = np.array([*values, None], dtype=object)[:-1]
    makers: list[Any] = [
        lambda: values,
        lambda: np.array(values),
        lambda: objects,
        lambda: pd.Series(objects),
        lambda: pd.Series(values),
        lambda: pd.Categorical(values),
        lambda: pd.Series(values, dtype="category"),
        lambda: pd.DataFrame({"y": values}),
        lambda: pd.Series(values).convert_dtypes(),
        lambda: pd.Series(pd.arrays.SparseArray(values)),
        lambda: pd.Series(values).convert_dtypes(dtype_backend="pyarrow"),
        lambda: pl.Series(values),
        lambda: pl.Series(values).cast(pl.Categorical),
        lambda: pl.DataFrame({"y": values}),
        lambda: pl.LazyFrame({"y": values}),
        lambda: pl.Series(values, dtype=pl.Object),
        lambda: pl.Series(values, dtype=pl.Int128),
        lambda: pa.array(values),
        lambda: pa.chunked_array([values]).dictionary_encode(),
        lambda: pa.table({"y": values}),
        lambda: np.array(values).reshape(-1, 1),
        lambda: tuple(values),
        lambda: np.ma.MaskedArray(np.array(values), mask=np.arange(len(values)) == 0),
        lambda: np.array(values, dtype=np.dtypes.StringDType()),
    ]
    try:
        return pick(rng, makers)()
    except Exception:  # the library does not accept these values
        return values


def draw_weights(rng: Rng, n_rows: int) -> Any:
    """Draw weights of rows: usually None."""
    kind = int(rng.integers(60))
    if kind >= 21:
        return None
    if kind >= 18:
        return 10.0 ** rng.uniform(*pick(rng, [(-300, 300), (0, 40), (-323, -300), (300, 308.2)]), size=n_rows)
    weights = rng.integers(1, 4, size=n_rows).astype(float)
    if kind < 6:
        return weights if kind > 1 else rng.exponential(size=n_rows)
    if kind < 9:
        return np.where(rng.random(n_rows) < rng.random(), 0.0, weights)
    if kind < 12:
        strange = [0.0, -1.0, np.nan, np.inf, 1e308, 1e-308, 5e-324, 1.7e308]
        return np.where(rng.random(n_rows) < rng.random(), pick(rng, strange), weights)
    if kind == 12:
        return draw_numbers(rng, (n_rows,))
    if kind == 13:
        return lay_out(rng, weights.astype(pick(rng, "?bBhlLQefdgDOUm"))[:, None])
    if kind == 14:
        return pick(rng, [weights.tolist(), pd.Series(weights), pl.Series(weights), pa.array(weights), tuple(weights)])
    if kind == 15:
        return pick(rng, [weights[:-1], np.ones(n_rows + 1), weights[:, None], 2.0, -1.0, np.nan, 0, "a", True, 1j])
    if kind == 16:
        return draw_objects(rng, n_rows)
    return make_nonsense(rng, n_rows, 2)


# Parameters.

SENSIBLE: dict[str, list[Any]] = {
    "estimator": [
        DecisionTreeClassifier(max_depth=2),
        GaussianNB(),
        DummyClassifier(),
        RidgeClassifier(),
        KNeighborsClassifier(1),
    ],
    "max_samples": [1, 2, 5, 30, 0.1, 0.5, 0.99, 1.0, "sqrt", 10**30],
    "max_features": [1, 2, 5, 0.1, 0.5, 1.0, "sqrt", 10**30],
    "weighting": ["exponential", "hard_exponential", "hard_logistic", "logistic"],
    "learning_rate": [1e-300, 0.1, 2, 1e6, np.float32(0.5)],
    "feature_momentum": [0, 1, 0.1, 1.0],
    "feature_exploration": [0, 1, 0.1, 1.0],
    "adaptive_observations": [False],
    "adaptive_features": [False],
    "importance": ["permutation"],
    "max_depth": [1, 2, 3, 2**31 - 2, np.int8(4)],
    "min_samples_leaf": [2, 5, 2**31 - 2],
    "min_samples_split": [2, 3, 20, 2**31 - 2],
    "max_bins": [2, 3, 16, 254],
    "categorical_features": [
        None,
        [0],
        [True],
        ["f0"],
        ["f0", "f1"],
        np.array([0, 1]),
        [],
        np.array(["f0"], dtype=object),
    ],
    "class_weight": ["balanced", {0: 2.0}, {0: 1, 1: 3}, {"no": 0.5}, {1: 0}, {False: 1e308}, {}, {0: 1e16, 1: 1}],
    "stopping": ["paper", None],
    "n_iter_no_change": [1, 2, 10**30],
    "time_limit": [1e-9, 0.01, 1e300, np.float32(1)],
    "warm_start": [True],
    "n_jobs": [1, 2, 3, -1, np.int64(2), True],
    "random_state": [0, 2**32 - 1, np.random.RandomState(0), None],
}


def score_half(y: Any, predictions: Any, weights: Any) -> float:
    """Score nothing."""
    return 0.5


def score_otherwise(score: Any) -> Any:
    """Make a scoring function that returns something else than a number."""
    return lambda y, predictions, weights: score


def fail_to_score(y: Any, predictions: Any, weights: Any) -> float:
    """Fail."""
    raise LieError("scoring")


CLASS_SCORES = ["accuracy", "balanced_accuracy", "log_loss", "roc_auc", "average_precision", "f1_macro", score_half]
VALUE_SCORES = ["r2", "absolute_error", "squared_error", "neg_median_absolute_error", "max_error", score_half]

#: Values for each estimator, with those parameters that only it has.
CLASSIFIER_SENSIBLE = SENSIBLE | {"multiclass": ["margin", "m2", "mh", "oc", "oc"], "scoring": CLASS_SCORES}
REGRESSOR_SENSIBLE = {
    **{name: values for name, values in SENSIBLE.items() if name not in ("learning_rate", "class_weight")},
    "estimator": [DecisionTreeRegressor(max_depth=2), LinearRegression(), DummyRegressor(), KNeighborsRegressor(1)],
    "weighting": ["linear", "square", "exponential", "threshold"],
    "observation_exploration": [0, 1, 0.0, 0.5],
    "scoring": VALUE_SCORES,
}


class Duck:
    """A classifier that is not derived from a class of scikit-learn."""

    def __init__(self, label: Any = 1):
        self.label = label

    def fit(self, X: Any, y: Any) -> "Duck":
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> Any:
        """Predict always the same label."""
        return np.full(len(X), self.label)


class RaisingCallback(Callback):
    """A callback that fails."""

    def on_iteration_end(self, run: Any) -> bool | None:
        """Fail."""
        raise LieError("callback")


class CuriousCallback(Callback):
    """A callback that checks the probabilities."""

    def on_iteration_end(self, run: Any) -> bool | None:
        """Check that probabilities sum to 1."""
        for probabilities in (run.observation_probabilities, run.feature_probabilities):
            if not abs(probabilities.sum() - 1) < 1e-9:
                raise AssertionError(f"probabilities sum to {probabilities.sum()}")
        return None


WRONG: list[Any] = [*SPECIAL, -1, 0, 2, 1.5, 10**400, "a", "", None, True, [], [1], {}, (), object(), Silent, int, b"a"]
WRONG_IN: dict[str, list[Any]] = {
    "callbacks": [[1], ["a"], [None], [Callback], [RaisingCallback()], [Callback(), 3], Callback(), {1: 2}, "ab", [[]]],
    "class_weight": [
        {0: np.nan},
        {0: -1},
        {0: "a"},
        {0: None},
        {0: np.inf, 1: 1e-308},
        {1: 1e308, 0: 1e308},
        {"a": 1},
        {object(): 1},
        {0: [1, 2]},
        {0: 10**400},
        {None: 1},
        {0: 0, 1: 0},
        {"no": 0, "yes": 0},
        {1: 5e-324},
        {(1, 2): 1},
        [{0: 1}],
        "subsample",
    ],
    "categorical_features": [
        [-1],
        [10**6],
        [2**64],
        [10**30],
        [0.5],
        [np.nan],
        [True, False],
        [[0]],
        [[0], [1, 2]],
        ["nope"],
        ["f0", 1],
        [None],
        np.array([0, 1], dtype="M8[s]"),
        np.array([0], dtype=np.uint64),
        "f0",
        {0},
        {"f0": 1},
        [b"f0"],
        [("a", "f0")],
        [{}],
        pd.Series(["f0"]),
        pl.Series([0]),
        np.array(0),
        [1j],
        ["\ud800"],
        Silent(),
    ],
    "estimator": [
        DecisionTreeClassifier,
        DecisionTreeClassifier(max_depth="a"),
        DummyClassifier(strategy="constant", constant=7),
        LinearRegression(),
        DummyRegressor(strategy="constant", constant=np.inf),
        object(),
        "tree",
        Duck(),
        Duck,
    ],
    "random_state": [-1, 2**32, 10**400, "a", 1.5, np.random.default_rng(0), np.nan, [1]],
    "n_jobs": [0, 10**30, -(10**30), 1.5, "2", np.nan],
    "max_samples": [0, 0.0, -1, 1.01, np.nan, "all", 5e-324, 1e-9],
    "max_features": [0, 0.0, -1, 1.01, np.nan, "all", 5e-324, 1e-9],
    "time_limit": [0, -1, np.nan, np.inf, 10**400],
    "n_iter_no_change": [0, 2**64, 10**400],
    "max_depth": [0, 2**31, 2**31 - 1, 2**64, 10**400],
    "min_samples_leaf": [0, 2**31, 2**31 - 1, 0.1],
    "min_samples_split": [0, 1, 2**31, 2**31 - 1, 0.1, "none"],
    "max_bins": [1, 256, 0],
    "verbose": [-1, "a", 0.5],
    "scoring": [
        *("", "roc_aucc", "adjusted_rand_score", 5, object(), int, len, fail_to_score, *CLASS_SCORES, *VALUE_SCORES),
        *(score_otherwise(score) for score in (None, "a", 1j, np.nan, np.inf, -np.inf, [1, 2], np.ones(3), 10**400)),
    ],
}


def draw_parameters(
    rng: Rng, sensible: dict[str, list[Any]], wrong: dict[str, list[Any]], *, is_wild: bool
) -> dict[str, Any]:
    """Draw parameters: a few that are not the default and, if wild, one that is invalid or at a limit."""
    params: dict[str, Any] = {"n_estimators": int(rng.integers(1, 7)), "random_state": int(rng.integers(1000))}
    for name in rng.choice(list(sensible), size=int(rng.integers(4))):
        if name not in ("estimator", "categorical_features") or chance(rng, 0.6):
            params[str(name)] = copy.deepcopy(pick(rng, sensible[name]))  # using a RandomState changes it
    if chance(rng, 0.1):
        params["callbacks"] = [pick(rng, [Callback(), CuriousCallback(), FeatureProbabilityRecorder([1])])]
    if chance(rng, 0.02):
        params["n_estimators"] = pick(rng, [2**31, 2**63, 10**30])
    if is_wild:
        known = [name for name in wrong if name in sensible or name in ("callbacks", "verbose")]
        name = str(pick(rng, [*known, *known, *sensible, "n_estimators"]))
        is_known = name == "verbose" or (name in known and chance(rng, 0.8))
        params[name] = pick(rng, wrong[name] if is_known else WRONG)
    if (
        isinstance(params["n_estimators"], int) and params["n_estimators"] > 10
    ):  # too many: only a time limit ends the fit
        params["time_limit"] = 0.01
    return params
