"""Check an installed package in a few seconds: ``python tests/smoke.py``. It needs no test library.

All four estimators learn, predict, and are saved and loaded; the command line trains and predicts, if its packages are
there. Wheels are tested by this.
"""

import csv
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

import mpboost

CLASSIFIERS = [mpboost.MPBoostClassifier, mpboost.MPGradientBoostingClassifier]
REGRESSORS = [mpboost.MPBoostRegressor, mpboost.MPGradientBoostingRegressor]
COMMAND_LINE = ["pyarrow", "rich", "typer"]  # the packages of mpboost[cli]


def main() -> None:
    """Raise an error if anything does not work; print what did."""
    print(f"mpboost {mpboost.__version__} in {Path(mpboost.__file__).parent}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for estimators, load, least in [(CLASSIFIERS, load_breast_cancer, 0.9), (REGRESSORS, load_diabetes, 0.3)]:
            X, y = load(return_X_y=True)
            for estimator in estimators:
                try_estimator(estimator, X, y, least, folder / f"{estimator.__name__}.mpb")
        missing = [package for package in COMMAND_LINE if importlib.util.find_spec(package) is None]
        if missing:
            check_advice()
            print(f"the command line says what to install: {', '.join(missing)}")
        else:
            try_command_line(folder)


def try_estimator(estimator: type, X: np.ndarray, y: np.ndarray, least: float, path: Path) -> None:
    """Train on every other row, score the others; predict the same with one thread, and with a loaded copy."""
    model = estimator(random_state=0, n_jobs=2).fit(X[::2], y[::2])
    score = model.score(X[1::2], y[1::2])
    assert score > least, f"{estimator.__name__} scores {score:.3f}"
    expected = model.predict(X)
    assert np.array_equal(estimator(random_state=0, n_jobs=1).fit(X[::2], y[::2]).predict(X), expected)
    mpboost.save_model(model, path)
    assert np.array_equal(mpboost.load_model(path).predict(X), expected)
    print(f"{estimator.__name__}: scores {score:.3f}, {path.stat().st_size // 1000} kB saved and loaded")


def run_command(*arguments: str, expected: int = 0) -> str:
    """Run the command line; return what it writes."""
    finished = subprocess.run(
        [sys.executable, "-m", "mpboost", *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    output = finished.stdout + finished.stderr
    assert finished.returncode == expected, output
    return output


def check_advice() -> None:
    """Check that the command line names what it lacks."""
    assert "mpboost[cli]" in run_command("--version", expected=1)


def try_command_line(folder: Path) -> None:
    """Train on a table and predict with the model."""
    X, y = load_breast_cancer(return_X_y=True)
    table, model, predictions = folder / "table.csv", folder / "model.mpb", folder / "predictions.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(X.shape[1])), "label"])
        writer.writerows([*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))
    run_command("fit", str(table), "--target", "label", "-o", str(model))
    run_command("predict", str(model), str(table), "-o", str(predictions))
    with predictions.open(newline="") as file:
        predicted = [row["prediction"] for row in csv.DictReader(file)]
    accuracy = np.mean(np.array(predicted) == y.astype(str))
    assert accuracy > 0.9, f"the command line's predictions are right in {accuracy:.3f}"
    print("the command line trains and predicts")


if __name__ == "__main__":
    main()
