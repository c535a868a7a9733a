"""Train on handwritten digits, 3 against 8; print what was learned and draw it: ``python examples/demo.py``."""

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mpboost import FeatureProbabilityRecorder, MPBoostClassifier

SIDE = 8  # the images have 8 x 8 pixels, each of them a feature
MOMENTS = (0, 10, 20, 30, 50, 100, 200, 400)  # iterations at which q is kept
SETTINGS = {"random_state": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the pictures")
    folder = parser.parse_args().output

    digits = load_digits()
    chosen = np.isin(digits.target, (3, 8))
    X_train, X_test, y_train, y_test = train_test_split(
        digits.data[chosen], digits.target[chosen], test_size=0.25, random_state=1, stratify=digits.target[chosen]
    )

    recorder = FeatureProbabilityRecorder(MOMENTS)
    model = MPBoostClassifier(**SETTINGS, callbacks=[recorder], verbose=1)
    start = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    print_results(model, model.score(X_test, y_test), seconds)

    # The same seed makes the same run, here without an end: it shows what would have come after the stop.
    endless = MPBoostClassifier(**SETTINGS, n_estimators=2 * model.n_iter_, stopping=None).fit(X_train, y_train)
    test_scores = [np.mean(predicted == y_test) for predicted in endless.staged_predict(X_test)]

    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "curves.png": draw_curves(model, endless, test_scores),
        "feature_probabilities.png": draw_feature_probabilities(model, recorder, X_train, y_train),
    }
    print("Pictures:")
    for name, figure in pictures.items():
        figure.savefig(folder / name, dpi=130)
        print(f"  {folder / name}")


def print_results(model, test_score, seconds):
    console = Console(highlight=False)
    facts = Table(box=None, show_header=False, title="Digits, 3 against 8", title_justify="left", title_style="bold")
    facts.add_row("test accuracy", f"{test_score:.1%}")
    facts.add_row("out-of-patch accuracy", f"{model.oop_score_:.1%}  (estimated without any test rows)")
    facts.add_row("stopped", f"after {model.n_iter_} iterations: {model.stop_reason_}")
    facts.add_row("model", f"the first {model.best_iteration_} trees, where that score was best")
    facts.add_row("time", f"{seconds:.2f} seconds")
    console.print()
    console.print(facts)

    q = model.feature_probabilities_
    ranking = Table(box=box.SIMPLE_HEAD, title="The ten likeliest features", title_justify="left", title_style="bold")
    ranking.add_column("pixel, from 0")
    ranking.add_column("q", justify="right")
    ranking.add_column("times chance", justify="right")
    ranking.add_column("", no_wrap=True)
    for feature in np.argsort(-q)[:10]:
        row, column = divmod(int(feature), SIDE)
        bar = "█" * round(24 * q[feature] / q.max())
        ranking.add_row(f"row {row}, column {column}", f"{q[feature]:.3f}", f"{q[feature] * len(q):.1f}", bar)
    console.print()
    console.print(ranking)


def draw_curves(model, endless, test_scores):
    """Draw the accuracies over the iterations, and where the model was cut."""
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    t = np.arange(1, endless.n_iter_ + 1)
    axes.plot(t, endless.train_scores_, color="#555555", linestyle=":", linewidth=2, label="training rows")
    axes.plot(t, test_scores, color="#E69F00", linewidth=2, label="test rows")
    axes.plot(t, endless.oop_scores_, color="#0072B2", linewidth=2, label="training rows, out-of-patch")

    axes.axvline(model.best_iteration_, color="black", linestyle="--", linewidth=1.2)
    axes.axvspan(model.n_iter_, t[-1], color="#999999", alpha=0.15, linewidth=0)
    best, stop = model.best_iteration_, model.n_iter_
    for x, y, text in (
        (best, 0.9, f"best iteration, {best}:\nthe model ends here"),
        (stop, 0.85, f"training stopped at {stop};\nthe rest shows what would have come"),
    ):
        axes.annotate(text, (x, y), xytext=(6, 0), textcoords="offset points", va="center")

    axes.set(xlim=(0, t[-1]), ylim=(0.75, 1.005), xlabel="iteration", ylabel="accuracy")
    axes.set_title("Digits, 3 against 8: accuracy as trees are added", loc="left")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", framealpha=1)
    return figure


def draw_feature_probabilities(model, recorder, X, y):
    """Draw the mean image of each digit, and beside them q as an image at several iterations."""
    stages = {f"t = {t}": q for t, q in recorder.probabilities_.items() if t < model.best_iteration_}
    stages[f"t = {model.best_iteration_}, the model"] = model.feature_probabilities_
    n_columns = 1 + (len(stages) + 1) // 2
    # One scale for all; the square root lets small differences show beside large ones.
    scale = PowerNorm(0.5, vmin=0, vmax=max(q.max() for q in stages.values()))

    figure, axes = plt.subplots(2, n_columns, figsize=(1.6 + 1.7 * n_columns, 4.4), layout="constrained")
    for panel in axes.flat:
        panel.set(xticks=[], yticks=[])
    for panel, digit in zip(axes[:, 0], model.classes_, strict=True):
        panel.imshow(X[y == digit].mean(axis=0).reshape(SIDE, SIDE), cmap="gray_r")
        panel.set_title(f"mean {digit}")
    panels = axes[:, 1:].ravel()
    for panel, (title, q) in zip(panels, stages.items(), strict=False):
        image = panel.imshow(q.reshape(SIDE, SIDE), cmap="viridis", norm=scale)
        panel.set_title(title)
    for panel in panels[len(stages) :]:
        panel.set_axis_off()
    chance = 1 / X.shape[1]
    bar = figure.colorbar(image, ax=axes, ticks=[0, chance, 0.05, 0.1], shrink=0.9)
    bar.ax.set_yticklabels(["0", f"{chance:.3f}, chance", "0.05", "0.1"])
    figure.suptitle("Digits, 3 against 8: the probability q of each pixel after t iterations")
    return figure


if __name__ == "__main__":
    main()
