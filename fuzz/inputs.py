"""Tests fit and predict with generated input: ``python -m fuzz.inputs --count 100000 --seed 0``.

The input of a case is made from its number. The estimator must either be fitted and give consistent predictions, or
raise a ValueError, a TypeError or a NotFittedError and stay as it was. ``--replay 7`` shows case 7.
"""

import argparse
import os
import pickle
import sys
import traceback
import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import mpboost
from fuzz import arguments, frames, generators, gradients
from fuzz.generators import LieError, Maker, Rng, chance, pick
from fuzz.pool import run_command
from mpboost import (
    MPBoostClassifier,
    MPBoostRegressor,
    MPGradientBoostingClassifier,
    MPGradientBoostingRegressor,
)

ALLOWED = (ValueError, TypeError, NotFittedError, LieError)
PACKAGE = os.path.dirname(mpboost.__file__)

#: Makers of tables; makers of many kinds of tables are listed more than once.
MAKERS: list[Maker] = [
    generators.make_floats,
    generators.make_floats,
    generators.make_array,
    generators.make_array,
    generators.make_array,
    generators.make_huge_integers,
    generators.make_other_array,
    generators.make_objects,
    generators.make_lists,
    generators.make_nonsense,
    generators.make_sparse,
    generators.make_sparse,
    frames.make_pandas,
    frames.make_pandas,
    frames.make_polars,
    frames.make_arrow,
]

#: The estimators; for each, sensible and wrong values of its parameters.
PARAMETERS: dict[type[Any], tuple[dict[str, list[Any]], dict[str, list[Any]]]] = {
    MPBoostClassifier: (arguments.CLASSIFIER_SENSIBLE, arguments.WRONG_IN),
    MPBoostRegressor: (arguments.REGRESSOR_SENSIBLE, arguments.WRONG_IN),
    MPGradientBoostingClassifier: (gradients.CLASSIFIER_SENSIBLE, arguments.WRONG_IN | gradients.WRONG_IN),
    MPGradientBoostingRegressor: (gradients.REGRESSOR_SENSIBLE, arguments.WRONG_IN | gradients.WRONG_IN),
}


@dataclass
class Case:
    """The arguments of an estimator."""

    estimator: type[Any]
    params: dict[str, Any]
    X: Any
    y: Any
    sample_weight: Any
    validation: dict[str, Any]
    other: Any
    was_fitted: bool
    is_pickled: bool


class DefectError(Exception):
    """Raised when a check fails."""


def make_case(number: int) -> Case:
    """Make the input of a case from its number."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _draw_case(np.random.default_rng(number))


def _draw_case(rng: Rng) -> Case:
    n_rows = int(pick(rng, [rng.integers(2, 60), rng.integers(2, 60), rng.integers(8, 40), rng.integers(8, 40)]))
    n_columns = int(rng.integers(1, 12))
    if chance(rng, 0.1):
        n_rows = pick(rng, [0, 1, 2, 3, 127, 128, 129, 300])
    if chance(rng, 0.06):
        n_columns = pick(rng, [0, 1, 70])
    make = pick(rng, MAKERS)
    make_other = pick(rng, [make, make, pick(rng, MAKERS)])
    # One argument at a time is wild, at most two: the first error hides the others.
    wild = pick(rng, ["X", "X", "X", "y", "params"])
    estimator = list(PARAMETERS)[int(rng.integers(len(PARAMETERS)))]
    draw_target = arguments.draw_values if is_regressor(estimator()) else arguments.draw_labels
    validation = {}
    if chance(rng, 0.15):
        validation = _draw_validation(rng, make, n_columns, draw_target)
    return Case(
        estimator=estimator,
        params=arguments.draw_parameters(rng, *PARAMETERS[estimator], is_wild=wild == "params"),
        X=(make if wild == "X" or chance(rng, 0.5) else generators.make_floats)(rng, n_rows, n_columns),
        y=draw_target(rng, n_rows, is_wild=wild == "y"),
        sample_weight=arguments.draw_weights(rng, n_rows),
        validation=validation,
        other=make_other(rng, pick(rng, [n_rows, 1, 0, 5, 130]), n_columns),
        was_fitted=chance(rng, 0.1),
        is_pickled=chance(rng, 0.1),
    )


def _draw_validation(rng: Rng, make: Maker, n_columns: int, draw_target: Any) -> dict[str, Any]:
    n_rows = int(rng.integers(1, 30))
    validation = {
        "X_val": make(rng, n_rows, n_columns),
        "y_val": draw_target(rng, n_rows, is_wild=chance(rng, 0.2)),
        "sample_weight_val": arguments.draw_weights(rng, n_rows),
    }
    if chance(rng, 0.1):
        del validation[pick(rng, list(validation))]
    return validation


def run_case(number: int) -> tuple[str, str]:
    """Run a case; return how it ended."""
    case = make_case(number)
    np.random.seed(number % 2**32)  # noqa: NPY002 - random_state=None uses it
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kind = _run(case)
        except Exception as error:
            return "error", _locate(error)
    for warning in caught:
        # Warnings of numpy come from anywhere; weak learners of scikit-learn have their own.
        is_of_numbers = issubclass(warning.category, RuntimeWarning) and "estimator" not in case.params
        is_old = issubclass(warning.category, DeprecationWarning | FutureWarning)
        if is_of_numbers or (is_old and warning.filename.startswith(PACKAGE)):
            return "error", f"{warning.filename}:{warning.lineno}: {warning.category.__name__}: {warning.message}"
    return kind, ""


def _run(case: Case) -> str:
    model = case.estimator(**case.params)
    if case.was_fitted:
        model = case.estimator(n_estimators=2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
        model.set_params(**case.params)
    before, marks = vars(model).copy(), _mark(case)
    try:
        model.fit(case.X, case.y, case.sample_weight, **case.validation)
    except ALLOWED as error:
        _check_same_state(before, vars(model))
        _check_same_input(marks, case)
        if not case.was_fitted:
            _expect(NotFittedError, lambda: model.predict(case.X))
        return next(kind.__name__ for kind in ALLOWED if isinstance(error, kind))
    _check_fitted(model)
    _check_same_input(marks, case)
    if _is_stable(case.X):
        check_predictions(model, case.X, len(model.observation_probabilities_))
        if model.warm_start and case.params["n_estimators"] < 10:
            model.set_params(n_estimators=model.n_estimators + 2)
            model.fit(case.X, case.y, case.sample_weight, **case.validation)
            _check_fitted(model)
    _try_predictions(model, case.other)
    if case.is_pickled:
        _check_pickle(model, case)
    return "fitted"


def _locate(error: Exception) -> str:
    """Describe an error, and where it was raised: the lines of our files, and the last one."""
    stack = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in stack if frame.filename.startswith(PACKAGE)]
    places = [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in (*ours, stack[-1])]
    return f"{type(error).__name__}: {str(error)[:300]} ({' '.join(places)})"


def _check_same_state(before: dict[str, Any], after: dict[str, Any]) -> None:
    if before.keys() != after.keys() or any(before[name] is not after[name] for name in before):
        changed = [name for name in before.keys() | after.keys() if before.get(name) is not after.get(name)]
        raise DefectError(f"a fit that failed has changed {changed}")


def _mark(case: Case) -> list[bytes]:
    """Copy the bytes of the input arrays."""
    tables = case.X, case.y, case.sample_weight, *case.validation.values()
    parts = [
        [table.data, table.indices, table.indptr]
        if sparse.issparse(table) and table.format in ("csr", "csc", "bsr")
        else [table]
        for table in tables
    ]
    return [
        part.view(np.ndarray).tobytes()
        for some in parts
        for part in some
        if isinstance(part, np.ndarray) and not part.dtype.hasobject and part.dtype.kind != "T"
    ]


def _check_same_input(marks: list[bytes], case: Case) -> None:
    if marks != _mark(case):
        raise DefectError("fit has changed its input")


def _is_stable(X: Any) -> bool:
    """Check whether a table is the same each time it is read."""
    return not hasattr(X, "__next__") and not isinstance(X, generators.Pretender | generators.Silent)


def _check_fitted(model: Any) -> None:
    for name in ("observation_probabilities_", "feature_probabilities_"):
        values = getattr(model, name)
        if not (values >= 0).all() or not abs(values.sum() - 1) < 1e-9:
            raise DefectError(f"{name} sums to {values.sum()}")
    lowest = -np.inf if is_regressor(model) or model.scoring is not None else 0.0
    highest = np.inf if callable(model.scoring) else 1.0
    for name in ("oop_score_", "train_scores_", "validation_scores_"):
        scores = np.asarray(getattr(model, name, np.nan))
        if not (np.isnan(scores) | ((scores >= lowest) & (scores <= highest))).all():
            raise DefectError(f"{name} is {scores}")
    if not 1 <= model.best_iteration_ <= model.n_iter_:
        raise DefectError(f"iteration {model.best_iteration_} of {model.n_iter_}")
    importances = model.feature_importances_
    if not (importances >= 0).all() or not (abs(importances.sum() - 1) < 1e-9 or not importances.any()):
        raise DefectError(f"importances {importances}")


def check_predictions(model: Any, X: Any, n_rows: int | None = None) -> None:
    """Call all prediction methods and compare their results; ``n_rows`` is the expected number of rows."""
    predictions = model.predict(X)
    n_rows = len(predictions) if n_rows is None else n_rows
    if is_classifier(model):
        _check_classes(model, X, predictions, n_rows)
    elif predictions.shape != (n_rows,) or not np.isfinite(predictions).all():
        raise DefectError(f"predictions {predictions} for {n_rows} rows")
    *_, last = model.staged_predict(X)
    if not np.array_equal(last, predictions):
        raise DefectError("the last stage differs from the model")


def _check_classes(model: Any, X: Any, labels: Any, n_rows: int) -> None:
    shares, decisions, n_classes = model.predict_proba(X), model.decision_function(X), len(model.classes_)
    shapes = (n_rows,), (n_rows,) if n_classes == 2 else (n_rows, n_classes), (n_rows, n_classes)
    if (labels.shape, decisions.shape, shares.shape) != shapes:
        raise DefectError(f"shapes {labels.shape}, {decisions.shape}, {shares.shape} for {n_rows} rows")
    if labels.dtype != model.classes_.dtype or not all(label in model.classes_.tolist() for label in labels.tolist()):
        raise DefectError(f"labels {labels} of {model.classes_}")
    if not np.isfinite(decisions).all():
        raise DefectError(f"decisions {decisions}")
    if not (abs(shares.sum(axis=1) - 1) < 1e-12).all() or (shares < 0).any():
        raise DefectError(f"shares {shares}")
    is_second = decisions > 0 if isinstance(model, MPBoostClassifier) else decisions >= 0
    best = decisions.argmax(axis=1) if n_classes > 2 else is_second.astype(int)
    # A user's loss makes probabilities that need not agree with decisions; rounding makes equal ones of others.
    has_own = hasattr(getattr(model, "loss", None), "inverse_link")
    agree = has_own or (np.take_along_axis(shares, best[:, None], 1)[:, 0] >= shares.max(axis=1) - 1e-12).all()
    if not agree or model.classes_[best].tolist() != labels.tolist():
        raise DefectError(f"labels {labels} for decisions {decisions} and shares {shares}")
    *_, last = model.staged_decision_function(X)
    if last.tobytes() != decisions.tobytes():
        raise DefectError("the last stage differs from the model")


def _try_predictions(model: Any, X: Any) -> None:
    before = vars(model).copy()
    try:
        model.predict(X)
    except ALLOWED:
        pass
    else:
        if _is_stable(X):
            check_predictions(model, X)
    _check_same_state(before, vars(model))


def _check_pickle(model: Any, case: Case) -> None:
    try:
        data = pickle.dumps(model)
    except (pickle.PicklingError, TypeError, AttributeError):  # a parameter, such as a callback, cannot be pickled
        return
    again = pickle.loads(data)
    X = np.random.default_rng(0).normal(size=(20, model.n_features_in_))
    if _is_stable(case.X):
        X = case.X
    elif hasattr(model, "feature_names_in_"):
        return
    method = "decision_function" if is_classifier(model) else "predict"
    if getattr(again, method)(X).tobytes() != getattr(model, method)(X).tobytes():
        raise DefectError("a pickled model predicts something else")


def _expect(kind: type[Exception], call: Any) -> None:
    try:
        call()
    except kind:
        return
    raise DefectError(f"{kind.__name__} was expected")


def replay(number: int) -> int:
    """Print the input of a case, run it, and print how it ended."""
    case = make_case(number)
    for field in fields(case):
        value = getattr(case, field.name)
        try:
            text = repr(value)
        except Exception as error:
            text = f"(repr raises {error!r})"
        details = [f"{name} {getattr(value, name, None)}" for name in ("shape", "dtype") if field.name in ("X", "y")]
        print(f"{field.name}: {type(value).__module__}.{type(value).__name__} {', '.join(details)}\n{text[:3000]}\n")
    kind, detail = run_case(number)
    print(f"{kind}: {detail}")
    return int(kind == "error")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--replay", type=int)
    number = parser.parse_known_args()[0].replay
    sys.exit(run_command("fuzz.inputs:run_case", __doc__) if number is None else replay(number))
