"""How each default was chosen: ``python -m benchmarks.defaults.choices [--quick] [--only PARAMETER ...]``.

One parameter is varied at a time around the defaults. Rows to test on have no part in it: what counts is the accuracy
on a fifth of the rows to learn from, which is held out. Fits run two at a time, with one thread each.
"""

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.output import print_heading, print_line
from benchmarks.common.results import ResultTable
from benchmarks.contestants.measuring import Outcome
from benchmarks.data.files import find_file
from benchmarks.data.sets import SETS
from benchmarks.defaults.trials import Case, Trial, scale_rows, take_roots
from mpboost import MPBoostClassifier, MPGradientBoostingClassifier

#: Sets that are cheap, or made so by taking some of their rows.
NAMES = (
    *("MNIST 3 vs 8", "CIFAR truck/car", "madelon", "adult", "magic", "higgs", "jasmine"),
    *("dna, 2 or not", "spambase", "gas drift, < 3", "relathe", "hill-valley", "covertype, 1 or not", "letter"),
)
MAX_ROWS = 8000


#: Fits of the defaults, by set and kind of choice.
Defaults = dict[tuple[str, tuple[float, bool]], list[Outcome]]


@dataclass(frozen=True)
class Choice:
    """Values of a parameter beside its default: what each is called, and the parameters that it means.

    ``noise`` is the share of labels that are flipped.
    """

    default: str
    values: dict[str, Case]
    noise: float = 0.0
    is_gradient: bool = False

    @property
    def kind(self) -> tuple[float, bool]:
        """What fits of the defaults can be shared with."""
        return self.noise, self.is_gradient


def _vary(name: str, *values: Any, noise: float = 0.0, is_gradient: bool = False) -> Choice:
    default = (MPGradientBoostingClassifier if is_gradient else MPBoostClassifier)().get_params()[name]
    others = {str(value): {name: value} for value in values if value != default}
    return Choice(str(default), others, noise, is_gradient)


RATES = ("learning_rate", 0.01, 0.03, 0.1, 0.3, 1.0)
SPLITS = ("min_samples_split", 2, 4, 16, 64)
CHOICES = {
    "importance": _vary("importance", "out_of_patch", "impurity", "permutation"),
    "feature_momentum": _vary("feature_momentum", 0.05, 0.1, 0.3, 0.5),
    "feature_exploration": _vary("feature_exploration", 0.0, 0.1, 0.2, 0.4),
    "learning_rate": _vary(*RATES),
    "learning_rate_noise": _vary(*RATES, noise=0.2),
    "min_samples_split": _vary(*SPLITS),
    "min_samples_split_noise": _vary(*SPLITS, noise=0.2),
    "max_samples": Choice("auto", {f"{k} roots": functools.partial(take_roots, k) for k in (4, 8, 16, 32)}),
    "max_features": _vary("max_features", 0.1, 0.2, 0.33, 0.5),
    "stopping": Choice(
        "patience 100",
        {
            "patience 50": {"n_iter_no_change": 50},
            "patience 200": {"n_iter_no_change": 200},
            "paper": {"stopping": "paper"},
            "None": {"stopping": None},
        },
    ),
    "n_estimators": _vary("n_estimators", 300, 1000),
}
#: The same for the gradient estimators.
GRADIENT_CHOICES = {
    "learning_rate": _vary("learning_rate", 0.03, 0.05, 0.1, 0.2, is_gradient=True),
    "max_samples": Choice(
        "auto", {f"{k} roots": functools.partial(scale_rows, k) for k in (10, 20, 80)}, is_gradient=True
    ),
    "max_features": _vary("max_features", 0.1, 0.2, 0.5, 1.0, is_gradient=True),
    "max_leaf_nodes": _vary("max_leaf_nodes", 15, 31, 63, 127, is_gradient=True),
    "min_samples_leaf": _vary("min_samples_leaf", 1, 5, 20, is_gradient=True),
    "l2_regularization": _vary("l2_regularization", 0.0, 0.1, 1.0, 10.0, is_gradient=True),
    "leaf_refit": _vary("leaf_refit", True, False, is_gradient=True),
    "importance": _vary("importance", "out_of_patch", "gain", is_gradient=True),
    "observation_exploration": _vary("observation_exploration", 0.0, 0.2, 0.5, 1.0, is_gradient=True),
    "feature_exploration": _vary("feature_exploration", 0.0, 0.2, 0.5, 1.0, is_gradient=True),
    "models": Choice(
        "auto",
        {
            "1, a tenth": {"n_models": 1, "oop_size": 0.1},
            "3, a tenth": {"n_models": 3, "oop_size": 0.1},
            "5, a fifth": {"n_models": 5, "oop_size": 0.2},
            "8, an eighth": {"n_models": 8, "oop_size": 0.125},
        },
        is_gradient=True,
    ),
    "n_iter_no_change": _vary("n_iter_no_change", 20, 35, 50, 70, 100, is_gradient=True),
}
CHOICES |= {f"gradient_{name}": choice for name, choice in GRADIENT_CHOICES.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_only(parser, CHOICES)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES, metavar="SET", help="; ".join(NAMES))
    parser.add_argument("--seeds", type=int, default=2, help="how many, of the splits and of the models")
    parser.add_argument("--jobs", type=int, default=2, help="fits at a time")
    options, folder = parse(parser, arguments, "defaults")
    n_seeds, n_rows = (1, 300) if options.quick else (options.seeds, MAX_ROWS)

    def measure(_: object) -> None:
        print_line(
            f"{n_seeds} seeds; at most {n_rows} rows to learn from, and to judge by; the accuracy of the default "
            "in percent,\nand how many points other values are above it"
        )
        with Parallel(options.jobs) as workers:
            defaults: Defaults = {}
            for parameter in options.only or CHOICES:
                show_choice(parameter, options.sets, Effort(n_seeds, n_rows, workers), defaults, folder)

    return run_on(lambda: [find_file(SETS[name].file) for name in options.sets], measure)


@dataclass(frozen=True)
class Effort:
    """How much is fitted, and by whom."""

    n_seeds: int
    n_rows: int
    workers: Parallel


def show_choice(
    parameter: str,
    names: Sequence[str],
    effort: Effort,
    defaults: Defaults,
    folder: Path,
) -> None:
    """Print a row for each set; keep the fits of the defaults, which all parameters share."""
    choice = CHOICES[parameter]
    noise = f", {choice.noise:.0%} of the labels flipped" if choice.noise else ""
    print_heading(f"{parameter.removesuffix('_noise')}{noise}")
    table = ResultTable(folder / "choices" / f"{parameter}.csv", ["set", f"{choice.default} (default)", *choice.values])
    scores, seconds = [], []
    for name in names:
        cases = [*([] if (name, choice.kind) in defaults else [{}]), *choice.values.values()]
        trials = [
            Trial(name, seed, choice.noise, effort.n_rows, case, choice.is_gradient)
            for case in cases
            for seed in range(effort.n_seeds)
        ]
        outcomes = effort.workers(delayed(trial.run)() for trial in trials)
        fits = [outcomes[start : start + effort.n_seeds] for start in range(0, len(trials), effort.n_seeds)]
        default = defaults.setdefault((name, choice.kind), fits[0])
        fits = [default, *fits[-len(choice.values) :]]
        scores.append([np.mean([outcome.test_score for outcome in fit]) for fit in fits])
        seconds.append([np.mean([outcome.seconds for outcome in fit]) for fit in fits])
        table.add([name, *_describe(scores[-1])])
    table.add(["mean", *_describe(np.mean(scores, axis=0))])
    table.add(["seconds", *(f"{mean:.2f}" for mean in np.mean(seconds, axis=0))])


def _describe(scores: Sequence[float]) -> list[str]:
    return [f"{scores[0]:.2f}", *(f"{score - scores[0]:+.2f}" for score in scores[1:])]


if __name__ == "__main__":
    sys.exit(main())
