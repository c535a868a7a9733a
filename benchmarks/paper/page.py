"""The page of the reproduction: ``python -m benchmarks.paper.page`` writes docs/reproduction.md from the results.

Its text is in ``reproduction.md`` beside this file; every number comes from the files of results.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from string import Template

from benchmarks.common.command import make_parser
from benchmarks.common.folders import PROJECT
from benchmarks.common.output import format_markdown, print_line
from benchmarks.common.results import read_rows
from benchmarks.contestants import OTHERS, OURS
from benchmarks.data.sets import PAPER_SETS
from benchmarks.paper.config import PAPER_CONFIG, Config, read_config
from benchmarks.paper.figure_numbers import (
    describe_observations,
    tabulate_ablation,
    tabulate_curves,
    tabulate_features,
    tabulate_scaling,
)
from benchmarks.paper.figures import FIGURE_RESULTS
from benchmarks.paper.ledger import Ledger, read_settings
from benchmarks.paper.summary import SetResult, summarise_set
from benchmarks.paper.tables import (
    NONE,
    Published,
    find_leaders,
    format_seconds,
    format_summary,
    measure_speed,
    read_published,
    tabulate_fixed_time,
    tabulate_leaders,
    tabulate_speed,
    tabulate_unlimited,
)
from benchmarks.scaling.fits import SCALING_RESULTS

PAGE = PROJECT / "docs" / "reproduction.md"
TEXT = Path(__file__).with_name("reproduction.md")


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__, has_quick=False)
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args(arguments)
    options.output.write_text(write_page(read_config(PAPER_CONFIG)), encoding="utf-8")
    print_line(f"page: {options.output}")
    return 0


def write_page(config: Config) -> str:
    """Fill the text with what the results say."""
    rows = {paper_set.name: row for row, paper_set in PAPER_SETS.items()}
    files = {rows[plan.name]: (plan, config.results / plan.file) for plan in config.sets}
    summaries = [
        replace(summarise_set(plan.name, Ledger(file), plan.n_candidates), name=row)
        for row, (plan, file) in files.items()
    ]
    results = [
        result for result in summaries if result.summaries
    ]  # a set that was not run, or not to its end, has none
    shown = {result.name: files[result.name] for result in results}
    words = {
        "facts": describe_facts([file for _, file in shown.values()]),
        "skipped": ", ".join(row for row in files if row not in shown),
        "agreement": tabulate_agreement(results),
        "table_3": tabulate_unlimited(results),
        "published_3": tabulate_published(results),
        "leaders": tabulate_leaders(results),
        "standing": describe_standing(results),
        "figure_2a": tabulate_ablation(read_rows(FIGURE_RESULTS / "figure_2a.csv")),
        "figure_2b": tabulate_curves(read_rows(FIGURE_RESULTS / "figure_2b.csv")),
        "figure_4": tabulate_features(read_rows(FIGURE_RESULTS / "figure_4.csv")),
        **describe_observations(read_rows(FIGURE_RESULTS / "figure_3.csv")),
        **{
            f"{figure}_{axis}": tabulate_scaling(read_rows(SCALING_RESULTS), axis, figure, unit)
            for axis in ("rows", "columns")
            for figure, unit in (("seconds", 1.0), ("peak_bytes", 1e6), ("accuracy", 0.01))
        },
        "caps": ", ".join(f"{cap:g}" for cap in sorted({plan.cap for plan, _ in shown.values()})),
    }
    for ours in OURS:
        key = "".join(letter for letter in ours.lower() if letter.isalpha())
        words[f"table_2_{key}"] = tabulate_fixed_time(results, ours)
        words[f"speed_{key}"] = tabulate_speed(results, ours)
        words[f"ratio_{key}"] = f"{median(speed[2] for each in results if (speed := measure_speed(each, ours))):.1f}"
    return Template(TEXT.read_text(encoding="utf-8")).substitute(words)


def describe_facts(files: Sequence[Path]) -> str:
    """Say what the fits of the tables were run on, and with which versions."""
    found: dict[str, set[str]] = {name: set() for name in ("processor", "cores", "python", "threads", "date")}
    versions: set[str] = set()
    n_fits = 0
    for path in files:
        for row in read_rows(path):
            n_fits += 1
            versions.add(f"{row['contestant']} {row['version']}")
            for name, values in found.items():
                values.add(row[name])
    facts = {name: ", ".join(sorted(values)) for name, values in found.items()}
    return (
        f"{n_fits} rows of results; {facts['processor']}, {facts['cores']} cores, {facts['threads']} thread; "
        f"Python {facts['python']}; {', '.join(sorted(versions))}; {facts['date']}"
    )


def find_published(row: str, table: int, contestant: str = "MP-Boost") -> Published:
    """Find the paper's numbers for a row of ours, which may be a part of the paper's set."""
    return read_published()[table, row.removesuffix(" (partial)"), contestant]


def tabulate_agreement(results: Sequence[SetResult]) -> str:
    """Compare the best of the paper's grid with the paper's own best."""
    rows = []
    for result in results:
        paper, forest = find_published(result.name, 3), find_published(result.name, 3, "RandomForest")
        mine, longer = result.best("PAPER"), result.best("PAPER, long")
        settings = read_settings(result.choices.best["PAPER"][0].settings)
        chosen = ", ".join(f"{name} = {value}" for name, value in settings.items() if name != "L")
        least = paper.accuracy - 2 * paper.deviation
        reached = [name for name in ("PAPER", "PAPER, long") if (each := result.best(name)) and each.accuracy >= least]
        is_complete = PAPER_SETS[result.name].is_complete
        rows.append(
            [
                result.name,
                f"{paper.accuracy:.2f} ± {paper.deviation:.2f}",
                format_seconds(paper.seconds),
                format_summary(mine),
                format_seconds(mine.seconds) if mine else NONE,
                f"{chosen}, {settings['L'].replace('_', ' ')}",
                format_summary(longer),
                format_seconds(longer.seconds) if longer else NONE,
                ", ".join(reached) or "no" if is_complete else "(a part of the set)",
                f"{forest.accuracy:.2f}",
                format_summary(result.best("RandomForest")),
            ]
        )
    columns = ["", "paper %", "seconds", "PAPER %", "seconds", "chosen", "PAPER, long %", "seconds", "reached by"]
    columns += ["the paper's forest %", "forest here %"]
    return format_markdown(columns, rows)


def tabulate_published(results: Sequence[SetResult]) -> str:
    """Give the paper's Table 3 for the sets that were run."""
    contestants = ("MP-Boost", "AdaBoost", "RandomForest", "GradientBoosting")
    rows = []
    for result in results:
        published = [find_published(result.name, 3, name) for name in contestants]
        rows.append([result.name, *(f"{each.accuracy:.2f}<br>{format_seconds(each.seconds)} s" for each in published)])
    return format_markdown(["the paper's", *contestants], rows)


def describe_standing(results: Sequence[SetResult]) -> str:
    """Say on how many sets one of ours is best or tied within its own time, and where none is."""
    leaders = {result.name: find_leaders(result) for result in results}
    best = [name for name, places in leaders.items() if "best" in places.values()]
    tied = [name for name, places in leaders.items() if "tied" in places.values() and name not in best]
    behind = [name for name in leaders if name not in (*best, *tied)]
    text = f"One of ours is best on {len(best)} of {len(leaders)} sets against all {len(OTHERS)} peers"
    text += f", and tied on {', '.join(tied)}" if tied else ""
    return text + (f"; none is on {', '.join(behind)}." if behind else ".")


if __name__ == "__main__":
    sys.exit(main())
