"""Measure time and peak memory of a fit as rows and columns grow, ours and others': ``python -m benchmarks.scaling``.

Each fit has one thread and a process of its own. Results are added to a CSV, and a run that was interrupted goes on
where it stood. A fit that would take too long, as the two sizes before it say, is skipped; one that does is ended.
"""

import sys
from pathlib import Path

from benchmarks.common.command import add_only, make_parser, run_on
from benchmarks.common.folders import IMAGES, TRIALS
from benchmarks.contestants import find_installed
from benchmarks.scaling.fits import NAMES, QUICK_NAMES, SCALING_RESULTS, Results, plan_fits, run_fits
from benchmarks.scaling.tables import show


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    installed = find_installed(NAMES)
    add_only(parser, installed)
    parser.add_argument("--cap", type=float, default=120.0, help="seconds that a fit may be expected to take")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    parser.add_argument("--results", type=Path, help="CSV file, by default benchmarks/results/scaling/fits.csv")
    parser.add_argument("--images", type=Path, help="folder for pictures, by default docs/images/paper")
    options = parser.parse_args(arguments)
    quick_folder = TRIALS / "scaling"
    path = options.results or (quick_folder / "fits.csv" if options.quick else SCALING_RESULTS)
    images = options.images or (quick_folder if options.quick else IMAGES)
    names = options.only or (QUICK_NAMES if options.quick else installed)
    if options.fresh:
        path.unlink(missing_ok=True)

    def measure(results: Results) -> None:
        run_fits(plan_fits(names, options.quick), results, options.cap)
        plans = [plan_fits([name], options.quick) for name in installed]
        show([fit for plan in plans if results.outcomes.keys() >= set(plan) for fit in plan], results, images)

    return run_on(lambda: Results(path), measure)


if __name__ == "__main__":
    sys.exit(main())
