"""Simulate what inference can be trusted for: ``python -m benchmarks.inference [PART ...]``; by default all parts.

Each part writes files of its own to ``benchmarks/results/inference``:

tests   how often tests of features call noise useful (size), and find useful features, by their effect (power)
speed   seconds
limits  where p, q, the out-of-patch score and intervals break
page    writes the tables and pictures of docs/inference.md and docs/limits.md from these results
"""

import sys
from importlib import import_module

from benchmarks.common.command import make_parser, parse, print_machine

#: The parts, and their modules: each has a function ``show(folder, *, quick)``.
PARTS = {
    "tests": "benchmarks.inference.tests_of_features",
    "speed": "benchmarks.inference.speed",
    "limits": "benchmarks.inference.limits",
    "page": "benchmarks.inference.page",
}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="some of the parts")
    options, folder = parse(parser, arguments, "inference")
    print_machine()
    for part in options.parts or PARTS:
        import_module(PARTS[part]).show(folder, quick=options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
