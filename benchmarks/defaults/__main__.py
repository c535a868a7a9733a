"""Measure what our defaults reach beside those of others: ``python -m benchmarks.defaults table|noise|features|all``.

``table`` has accuracy and seconds on all sets and how far the out-of-patch score is from the truth, ``noise`` has
flipped training labels, ``features`` how q ranks the features of Madelon that carry signal. Each table is printed as
it comes, in Markdown, and written to a CSV file. ``python -m benchmarks.defaults.choices`` shows how each was chosen.
"""

import sys

from benchmarks.common.command import add_only, make_parser, parse, run_on
from benchmarks.data.files import find_file
from benchmarks.data.sets import SETS
from benchmarks.defaults.features import show_features
from benchmarks.defaults.noise import NOISY_SETS, show_noise
from benchmarks.defaults.table import GOALS, show_defaults

N_SEEDS = 5


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("kind", choices=("table", "noise", "features", "all"), help="what to measure")
    add_only(parser, GOALS)
    options, folder = parse(parser, arguments, "defaults")

    kinds = ("table", "noise", "features") if options.kind == "all" else (options.kind,)
    sets = {"table": tuple(GOALS), "noise": NOISY_SETS, "features": ("madelon",)}
    chosen = {kind: [name for name in sets[kind] if name in (options.only or GOALS)] for kind in kinds}
    n_seeds, n_rows = (2, 400) if options.quick else (N_SEEDS, None)

    def measure(_: object) -> None:
        if chosen.get("table"):
            show_defaults(chosen["table"], n_seeds, n_rows, folder)
        if chosen.get("noise"):
            show_noise(chosen["noise"], n_seeds, n_rows, folder)
        if chosen.get("features"):
            show_features(n_seeds, n_rows, 1 if options.quick else 40, folder)

    return run_on(lambda: [find_file(SETS[name].file) for names in chosen.values() for name in names], measure)


if __name__ == "__main__":
    sys.exit(main())
