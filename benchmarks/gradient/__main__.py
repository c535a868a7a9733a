"""Measure gradient boosting, ours and others': ``python -m benchmarks.gradient speed|accuracy|prediction|profile|all``.

``speed`` has the time to LightGBM's test accuracy, ``accuracy`` what defaults reach and whether the out-of-patch score
can be believed, ``prediction`` rows per second, ``profile`` where the time of a fit goes. Each table is printed as it
comes, in Markdown, and written to a CSV file. Contestants that are not installed are left out.
"""

import sys
from pathlib import Path

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.common.folders import TRIALS
from benchmarks.contestants import find_installed
from benchmarks.contestants.measuring import FitMemory
from benchmarks.data.files import find_file
from benchmarks.data.sets import SETS
from benchmarks.gradient.accuracy import show_accuracy
from benchmarks.gradient.prediction import WIDE_SET, show_prediction
from benchmarks.gradient.profile import PROFILED_SET, show_profile
from benchmarks.gradient.speed import SHARES, show_speed

KINDS = ("speed", "accuracy", "prediction", "profile")
#: The gradient boosters that ours is compared with.
BOOSTERS = ("LightGBM", "XGBoost", "CatBoost", "HistGradientBoosting")
N_SEEDS = 5
N_TREES = (100, 500)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("kind", choices=(*KINDS, "all"), help="what to measure")
    add_only(parser, SETS)
    parser.add_argument("--others", nargs="+", choices=BOOSTERS, default=list(BOOSTERS), help="whom to compare with")
    parser.add_argument("--seeds", type=int, help=f"seeds 0, 1, ..., by default {N_SEEDS}")
    parser.add_argument("--threads", type=int, default=1, help="of each fit, for speed and accuracy; by default 1")
    parser.add_argument("--memory", type=Path, default=TRIALS / "fits", help="folder that keeps the fits of others")
    options, folder = parse(parser, arguments, "gradient")

    kinds = KINDS if options.kind == "all" else (options.kind,)
    sets = {
        "speed": options.only or list(SHARES),
        "accuracy": options.only or list(SETS),
        "prediction": [WIDE_SET],
        "profile": [PROFILED_SET],
    }
    n_seeds, n_rows, n_trees = (2, 400, (5, 10)) if options.quick else (N_SEEDS, None, N_TREES)
    n_seeds = options.seeds or n_seeds
    others = find_installed(options.others)

    def measure(_: object) -> None:
        if "speed" in kinds:
            show_speed(sets["speed"], n_seeds, n_rows, n_trees[0], options.threads, folder)
        if "accuracy" in kinds:
            plans = [(name, n) for name in others for n in n_trees]
            memory = FitMemory(options.memory)
            show_accuracy(sets["accuracy"], plans, memory, n_seeds, n_rows, options.threads, folder)
        if "prediction" in kinds:
            show_prediction(others, options.quick, folder)
        if "profile" in kinds:
            show_profile(n_rows, folder)

    return run_on(lambda: [find_file(SETS[name].file) for kind in kinds for name in sets[kind]], measure)


if __name__ == "__main__":
    sys.exit(main())
