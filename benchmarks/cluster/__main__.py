"""Measure training on a Dask cluster of this machine.

``python -m benchmarks.cluster fits`` times fits on two workers beside local ones. ``latency`` measures how long shards
take to exchange nothing, and a megabyte, beside calls of Dask's actors. ``rounds`` measures where the time of an
iteration goes, and how many bytes are sent. ``kills`` kills workers at random moments of fits, and compares the bits of
models. ``simulate`` estimates iterations per second on up to 1000 workers from what ``latency`` and ``rounds`` have
measured. Predictions are measured by ``python -m benchmarks.cluster.prediction``. ``page`` writes the tables of
docs/cluster.md and docs/scale.md from the results of all of them.
"""

import sys

from benchmarks.cluster import fits, kills, latency, page, rounds, simulation
from benchmarks.common.command import make_parser, parse, run_on

KINDS = {
    "fits": fits.show_fits,
    "latency": latency.show_latency,
    "rounds": rounds.show_rounds,
    "kills": kills.show_kills,
    "simulate": simulation.show_simulation,
    "page": page.write_pages,
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("kind", choices=KINDS, help="what to measure")
    options, folder = parse(parser, arguments, "cluster")
    return run_on(lambda: None, lambda _: KINDS[options.kind](folder, quick=options.quick))


if __name__ == "__main__":
    sys.exit(main())
