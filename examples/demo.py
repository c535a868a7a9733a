"""Train on handwritten digits, 3 against 8, by the command line, and draw the model: ``python examples/demo.py``."""

import argparse
import csv
import shlex
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mpboost import (
    FeatureProbabilitiesDisplay,
    FeatureProbabilityRecorder,
    MPBoostClassifier,
    ObservationsDisplay,
    ScoreCurvesDisplay,
)
from mpboost.cli.app import app

SIDE = 8  # the images have 8 x 8 pixels, each of them a feature
MOMENTS = (0, 10, 20, 30, 50, 100, 200, 400)  # iterations at which q is kept
SETTINGS = {"random_state": 1}
PIXELS = [f"row{row}col{column}" for row in range(SIDE) for column in range(SIDE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for all that is written")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)

    digits = load_digits()
    chosen = np.isin(digits.target, (3, 8))
    X_train, X_test, y_train, y_test = train_test_split(
        digits.data[chosen], digits.target[chosen], test_size=0.5, random_state=1, stratify=digits.target[chosen]
    )
    write_table(folder / "digits.csv", X_train, y_train)
    write_table(folder / "new-digits.csv", X_test, y_test)

    table, model = folder / "digits.csv", folder / "digits.mpb"
    show(f"mpboost fit {table} --target digit --preset votes --keep-all --set random_state=1 -o {model} --force")
    show(f"mpboost predict {model} {folder}/new-digits.csv --columns digit -o {folder}/predictions.csv --force")
    with (folder / "predictions.csv").open() as file:
        is_right = [row["digit"] == row["prediction"] for row in csv.DictReader(file)]
    print(f"\nRight are {np.mean(is_right):.1%} of these {len(is_right)} digits, which the model never saw.")
    show(f"mpboost issues {model} {table} -n 5")

    print("\nPictures:")
    for name, figure in draw_pictures(X_train, y_train, X_test, y_test).items():
        figure.savefig(folder / name, dpi=130)
        print(f"  {folder / name}")
    show(f"mpboost report {model} {table} --image-shape {SIDE}x{SIDE} -o {folder}/report.html --force")


def write_table(path, X, y):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*PIXELS, "digit"])
        writer.writerows(np.column_stack([X, y]).astype(int).tolist())


def show(command):
    print(f"\n$ {command}")
    sys.stdout.flush()
    if code := app(shlex.split(command)[1:], standalone_mode=False):
        sys.exit(code)


def draw_pictures(X_train, y_train, X_test, y_test):
    """Train the same model again, to look at it on the way, and draw what there is to see."""
    recorder = FeatureProbabilityRecorder(MOMENTS)
    model = MPBoostClassifier(**SETTINGS, callbacks=[recorder]).fit(X_train, y_train)
    # The same seed makes the same run, here without an end: it shows what would have come after the stop.
    endless = MPBoostClassifier(**SETTINGS, n_estimators=2 * model.n_iter_, stopping=None).fit(X_train, y_train)
    return {
        "curves.png": draw_curves(endless, X_test, y_test, model),
        "feature_probabilities.png": draw_feature_probabilities(model, recorder, X_train, y_train),
        "observations.png": ObservationsDisplay.from_estimator(model, X_train, image_shape=(SIDE, SIDE)).figure_,
    }


def draw_curves(endless, X_test, y_test, model):
    """Draw the accuracies over the iterations, and where the model was cut."""
    display = ScoreCurvesDisplay.from_estimator(endless, X_test, y_test, stopped=model)
    display.ax_.set_title("Digits, 3 against 8: accuracy as trees are added", loc="left")
    display.ax_.yaxis.set_major_formatter("{x:.0%}")
    return display.figure_


def draw_feature_probabilities(model, recorder, X, y):
    """Draw the mean image of each digit, and beside them q as an image at several iterations."""
    n_images = 1 + sum(t < model.best_iteration_ for t in recorder.probabilities_)
    n_columns = 1 + (n_images + 1) // 2
    figure, axes = plt.subplots(2, n_columns, figsize=(1.6 + 1.7 * n_columns, 4.4), layout="constrained")
    for panel in axes.flat:
        panel.set_axis_off()
    for panel, digit in zip(axes[:, 0], model.classes_, strict=True):
        panel.imshow(X[y == digit].mean(axis=0).reshape(SIDE, SIDE), cmap="gray_r")
        panel.set_title(f"mean {digit}")
    FeatureProbabilitiesDisplay.from_estimator(
        model, kind="image", recorder=recorder, image_shape=(SIDE, SIDE), ax=axes[:, 1:].flat[:n_images]
    )
    figure.suptitle("Digits, 3 against 8: the probability q of each pixel after t iterations")
    return figure


if __name__ == "__main__":
    main()
