"""List the data sets: ``python -m benchmarks.data``.

Of each: where it would come from, its size, and whether its check-sum is right. Nothing is fetched.
"""

import sys

from benchmarks.common.output import print_line, print_table
from benchmarks.data.files import CHECKSUMS, DataNotFoundError, describe_source
from benchmarks.data.openml import SOURCES
from benchmarks.data.sets import ALL_SETS, PAPER_SETS, load_set


def describe_set(name: str) -> tuple[str, str, str, str]:
    """Say where a set comes from, its rows (to learn from, and to test) by columns, and what its check-sum shows.

    Nothing is fetched from OpenML.
    """
    file = ALL_SETS[name].file
    source = describe_source(file)
    if source.startswith("OpenML"):
        return name, source, f"{SOURCES[file].n_rows} x {SOURCES[file].n_columns} in all", "not fetched"
    if not source:
        return name, "not to be had", "", ""
    try:
        arrays = load_set(name)
    except DataNotFoundError as error:
        return name, source, "", f"FAILED: {error}"
    tables = [array for key, array in arrays.items() if key.startswith("X")]
    has_sum = source == "cache" or (source == "local" and file in CHECKSUMS)
    return (
        name,
        source,
        f"{'+'.join(str(len(X)) for X in tables)} x {tables[0].shape[1]}",
        "right" if has_sum else "none",
    )


def main() -> int:
    descriptions = [describe_set(name) for name in ALL_SETS]
    print_table(["set", "from", "rows x columns", "check-sum"], descriptions)
    missing = [row for row, paper_set in PAPER_SETS.items() if not describe_source(ALL_SETS[paper_set.name].file)]
    print_line(f"Of the paper's sets, not to be had: {', '.join(missing) or 'none'}")
    return int(any(description[-1].startswith("FAILED") for description in descriptions))


if __name__ == "__main__":
    sys.exit(main())
