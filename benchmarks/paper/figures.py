"""Figures 2 to 4 of the paper, on MNIST 3 vs 8: ``python -m benchmarks.paper.figures [--quick]``."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.common.command import make_parser, run_on
from benchmarks.common.folders import IMAGES, RESULTS, TRIALS
from benchmarks.common.output import print_line
from benchmarks.common.pictures import save_picture
from benchmarks.common.progress import show_progress
from benchmarks.common.results import write_rows
from benchmarks.data.sets import load_case_study
from benchmarks.data.split_set import SplitSet
from mpboost import (
    PAPER,
    FeatureProbabilitiesDisplay,
    FeatureProbabilityRecorder,
    MPBoostClassifier,
    ObservationsDisplay,
    ScoreBandsDisplay,
    ScoreCurvesDisplay,
)

#: Where the numbers of the figures are.
FIGURE_RESULTS = RESULTS / "paper" / "figures"

#: Algorithms 1 and 2 on minipatches of the size that the paper uses for this set.
PAPER_MNIST: dict[str, Any] = {**PAPER, "max_samples": 500, "max_features": 30}

#: The four settings of Figure 2a: whether p is adaptive, and whether q is.
ABLATION: dict[str, tuple[bool, bool]] = {
    "p and q adaptive": (True, True),
    "p adaptive, q uniform": (True, False),
    "p uniform, q adaptive": (False, True),
    "p and q uniform": (False, False),
}


@dataclass(frozen=True)
class Effort:
    """How much is run."""

    n_repeats: int = 5
    #: Iterations of the ablation, and of the run past the stop.
    ablation_run: int = 300
    long_run: int = 500
    #: The most iterations until the stop.
    n_estimators: int = 2000
    #: Iterations whose scores are written down, and those at which q is drawn.
    score_moments: tuple[int, ...] = (10, 25, 50, 100, 200, 300, 500)
    q_moments: tuple[int, ...] = (0, 10, 30, 50, 100, 200)

    @property
    def n_steps(self) -> int:
        """Steps of the progress bar: the fits and the pictures."""
        return len(ABLATION) * self.n_repeats + 2 + 4


QUICK = Effort(n_repeats=2, ablation_run=25, long_run=60, n_estimators=40)


def ignore() -> None:
    """Do nothing when a step is done."""


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--output", type=Path, help="folder for the pictures, by default docs/images/paper")
    parser.add_argument(
        "--results", type=Path, help="folder for the numbers, by default benchmarks/results/paper/figures"
    )
    options = parser.parse_args(arguments)
    effort = QUICK if options.quick else Effort()
    trial = TRIALS / "paper-quick"  # what is only tried must not replace what is shown
    folder = options.output or (trial if options.quick else IMAGES)
    results = options.results or (trial if options.quick else FIGURE_RESULTS)

    def draw(split_set: SplitSet) -> None:
        with show_progress(effort.n_steps) as bar:
            bar.describe("figures")
            paths = draw_all(split_set, folder, results, effort, bar.advance)
        for path in paths:
            print_line(str(path))

    return run_on(load_case_study, draw)


def draw_all(
    split_set: SplitSet, folder: Path, results: Path, effort: Effort, advance: Callable[[], object] = ignore
) -> list[Path]:
    """Draw all figures, each as PNG and SVG; write their numbers into files of results.

    Parameters
    ----------
    split_set : SplitSet
        Square images of the digits 3 (-1) and 8 (+1).
    folder, results : Path
        Where the pictures and the numbers go.
    effort : Effort
        How much to run.
    advance : callable, default=ignore
        Called after each of ``effort.n_steps`` steps.

    Returns
    -------
    paths : list of Path
        The pictures.
    """
    split_set = name_digits(split_set)

    curves = run_ablation(split_set, effort.n_repeats, effort.ablation_run, advance)
    write_ablation(results / "figure_2a.csv", curves, effort)
    figures = {"figure_2a": draw_ablation(split_set, curves)}
    advance()

    model = MPBoostClassifier(**{**PAPER_MNIST, "n_estimators": effort.n_estimators}, random_state=0)
    model.fit(split_set.X_train, split_set.y_train)
    advance()
    # The same seed makes the same run, here past the stop.
    recorder = FeatureProbabilityRecorder(effort.q_moments)
    endless = MPBoostClassifier(
        **{**PAPER_MNIST, "stopping": None, "n_estimators": effort.long_run}, callbacks=[recorder], random_state=0
    ).fit(split_set.X_train, split_set.y_train)
    advance()

    figures["figure_2b"] = draw_curves(split_set, model, endless, effort, results / "figure_2b.csv")
    advance()
    figures["figure_3"] = draw_observations(split_set, model, results / "figure_3.csv")
    advance()
    figures["figure_4"] = draw_features(split_set, endless, recorder, results / "figure_4.csv")
    advance()
    return [path for name, figure in figures.items() for path in save_picture(figure, folder / name)]


def name_digits(split_set: SplitSet) -> SplitSet:
    """Label the digits by what they are."""
    return replace(
        split_set, y_train=np.where(split_set.y_train > 0, 8, 3), y_test=np.where(split_set.y_test > 0, 8, 3)
    )


def run_ablation(
    split_set: SplitSet, n_repeats: int, n_iterations: int, advance: Callable[[], object] = ignore
) -> dict[str, NDArray[np.float64]]:
    """Measure the test accuracy after each iteration, for each setting an array of shape (n_repeats, n_iterations)."""
    curves = {name: np.empty((n_repeats, n_iterations)) for name in ABLATION}
    for seed in range(n_repeats):
        for name, (adaptive_observations, adaptive_features) in ABLATION.items():
            parameters = {
                **PAPER_MNIST,
                "stopping": None,
                "n_estimators": n_iterations,
                "adaptive_observations": adaptive_observations,
                "adaptive_features": adaptive_features,
            }
            model = MPBoostClassifier(**parameters, random_state=seed).fit(split_set.X_train, split_set.y_train)
            curves[name][seed] = [
                np.mean(labels == split_set.y_test) for labels in model.staged_predict(split_set.X_test)
            ]
            advance()
    return curves


def draw_ablation(split_set: SplitSet, curves: dict[str, NDArray[np.float64]]) -> Figure:
    """Draw Figure 2a, as errors: accuracies near 1 cannot be told apart."""
    display = ScoreBandsDisplay(curves, score_name="test accuracy").plot(as_error=True)
    display.ax_.set_title(f"{split_set.name}: what learning p (rows) and q (features) brings", loc="left", fontsize=11)
    return display.figure_


def write_ablation(path: Path, curves: dict[str, NDArray[np.float64]], effort: Effort) -> None:
    """Write the accuracies of Figure 2a at some iterations."""
    moments = [t for t in effort.score_moments if t <= effort.ablation_run]
    write_rows(
        path,
        ["setting", "repeat", "iteration", "test_accuracy"],
        (
            [name, repeat, t, f"{scores[t - 1]:.5f}"]
            for name, runs in curves.items()
            for repeat, scores in enumerate(runs)
            for t in moments
        ),
    )


def draw_curves(
    split_set: SplitSet, model: MPBoostClassifier, endless: MPBoostClassifier, effort: Effort, path: Path
) -> Figure:
    """Draw Figure 2b: the run past the stop, and where the model stopped."""
    display = ScoreCurvesDisplay.from_estimator(endless, split_set.X_test, split_set.y_test, stopped=model)
    display.ax_.set_title(f"{split_set.name}: accuracy, also after the stop", loc="left", fontsize=11)
    events = {model.n_iter_: "stop", model.best_iteration_: "best iteration"}
    moments = sorted({t for t in (*effort.score_moments, *events) if t <= endless.n_iter_})
    curves = [display.curves[name] for name in ("training", "out-of-patch", "test")]
    write_rows(
        path,
        ["iteration", "train", "oop", "test", "event"],
        ([t, *(f"{curve[t - 1]:.5f}" for curve in curves), events.get(t, "")] for t in moments),
    )
    return display.figure_


def draw_observations(split_set: SplitSet, model: MPBoostClassifier, path: Path) -> Figure:
    """Draw Figure 3: the digits by their principal components, before and after training."""
    display = ObservationsDisplay.from_estimator(
        model, split_set.X_train, image_shape=find_shape(split_set), max_points=2000
    )
    for points in display.points_:
        points.set_rasterized(True)  # thousands of them would make a large SVG
    p = np.sort(model.observation_probabilities_)[::-1]
    share = p[: math.ceil(len(p) / 100)].sum()
    write_rows(
        path,
        ["row", "label", "times_uniform", "share_of_hardest_percent"],
        (
            [display.rows[point], display.targets[point], f"{len(p) * display.weights[point]:.1f}", f"{share:.4f}"]
            for point in display.hardest
        ),
    )
    return display.figure_


def draw_features(
    split_set: SplitSet, endless: MPBoostClassifier, recorder: FeatureProbabilityRecorder, path: Path
) -> Figure:
    """Draw Figure 4: q as images."""
    display = FeatureProbabilitiesDisplay.from_estimator(
        endless, kind="image", recorder=recorder, image_shape=find_shape(split_set)
    )
    is_inked = split_set.X_train.max(axis=0) > 0
    write_rows(
        path,
        ["iteration", "effective_features", "share_on_inked_pixels"],
        ([t, f"{1 / np.sum(q**2):.1f}", f"{q[is_inked].sum():.4f}"] for t, q in display.probabilities.items()),
    )
    return display.figure_


def find_shape(split_set: SplitSet) -> tuple[int, int]:
    """Tell the height and the width of the images."""
    side = math.isqrt(split_set.X_train.shape[1])
    return side, side


if __name__ == "__main__":
    sys.exit(main())
