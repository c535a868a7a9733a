"""Our gradient boosting beside that of others: ``python -m benchmarks.gradient speed|accuracy|prediction|profile|all``.

``speed`` has the time to LightGBM's test accuracy, ``accuracy`` what defaults reach and whether the out-of-patch score
can be believed, ``prediction`` rows per second, ``profile`` where the time of a fit goes. Each kind of figures is
printed as it comes, and written to a folder in Markdown. Peers that are not installed are left out.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.command import make_parser, run_on
from benchmarks.data import PROJECT, find_file
from benchmarks.gradient_accuracy import show_accuracy
from benchmarks.gradient_prediction import WIDE_SET, show_prediction
from benchmarks.gradient_profile import PROFILED_SET, show_profile
from benchmarks.gradient_speed import SHARES, show_speed
from benchmarks.peers import PEERS, PeerMemory, find_boosters
from benchmarks.sets import SETS

KINDS = ("speed", "accuracy", "prediction", "profile")
FOLDER = PROJECT / "build" / "benchmarks"
N_SEEDS = 5
N_TREES = (100, 500)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kind", choices=(*KINDS, "all"), help="what to measure")
    parser.add_argument("--only", nargs="+", choices=SETS, metavar="SET", help=f"some of: {'; '.join(SETS)}")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="whom to compare with")
    parser.add_argument("--seeds", type=int, help=f"seeds 0, 1, ..., by default {N_SEEDS}")
    parser.add_argument("--threads", type=int, default=1, help="of each fit, for speed and accuracy; by default 1")
    parser.add_argument("--memory", type=Path, default=FOLDER / "peers", help="folder that keeps the fits of peers")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the tables")
    options = parser.parse_args(arguments)

    kinds = KINDS if options.kind == "all" else (options.kind,)
    sets = {
        "speed": options.only or list(SHARES),
        "accuracy": options.only or list(SETS),
        "prediction": [WIDE_SET],
        "profile": [PROFILED_SET],
    }
    n_seeds, n_rows, n_trees = (2, 400, (5, 10)) if options.quick else (N_SEEDS, None, N_TREES)
    n_seeds = options.seeds or n_seeds
    peers = find_boosters(options.peers)

    def measure(_: object) -> None:
        if "speed" in kinds:
            show_speed(sets["speed"], n_seeds, n_rows, n_trees[0], options.threads, options.output)
        if "accuracy" in kinds:
            plans = [(name, n) for name in peers for n in n_trees]
            memory = PeerMemory(options.memory)
            show_accuracy(sets["accuracy"], plans, memory, n_seeds, n_rows, options.threads, options.output)
        if "prediction" in kinds:
            show_prediction(peers, options.quick, options.output)
        if "profile" in kinds:
            show_profile(n_rows, options.output)

    return run_on(lambda: [find_file(SETS[name].file) for kind in kinds for name in sets[kind]], measure)


if __name__ == "__main__":
    sys.exit(main())
