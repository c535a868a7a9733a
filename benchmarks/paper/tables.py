"""The tables, in Markdown, from the results."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.common.output import format_markdown
from benchmarks.common.results import read_rows
from benchmarks.contestants import OTHERS, OURS
from benchmarks.paper.summary import SetResult, Summary, is_tied

#: Stands where there is nothing to show.
NONE = "-"


@dataclass(frozen=True)
class Published:
    """What the paper reports: accuracy in percent, seconds, and their standard deviations; NaN where it has none."""

    accuracy: float
    deviation: float
    seconds: float


def read_published() -> dict[tuple[int, str, str], Published]:
    """Read the paper's numbers, by table, data set and contestant, in the paper's names."""
    return {
        (int(row["table"]), row["set"], row["contestant"]): Published(
            *(float(row[name] or "nan") for name in ("accuracy", "accuracy_deviation", "seconds"))
        )
        for row in read_rows(Path(__file__).with_name("published.csv"))
    }


def tabulate_fixed_time(results: Sequence[SetResult], ours: str) -> str:
    """Make Table 2 for one of ours: its best, and that of each of the others within its time."""
    rows = []
    for result in results:
        mine = result.best(ours)
        if mine is None:
            continue
        others = [result.within(ours, other) for other in OTHERS]
        best = max(summary.accuracy for summary in (mine, *others) if summary)
        cells = [_format_accuracy(summary, best) for summary in (mine, *others)]
        rows.append([result.name, format_seconds(mine.seconds), *cells])
    return format_markdown(["", "seconds", f"**{ours}**", *OTHERS], rows)


def tabulate_unlimited(results: Sequence[SetResult]) -> str:
    """Make Table 3: each contestant's best without a limit, with its time."""
    rows = []
    for result in results:
        summaries = {name: result.best(name) for name in (*OURS, *OTHERS)}
        best = max(summary.accuracy for summary in summaries.values() if summary)
        fastest = min(summary.seconds for summary in summaries.values() if summary)
        rows.append([result.name, *(_format_both(summary, best, fastest) for summary in summaries.values())])
    return format_markdown(["", *OURS, *OTHERS], rows)


def find_leaders(result: SetResult) -> dict[str, str]:
    """Tell for each of ours whether it is "best" or "tied" in its own time, or how far it is behind."""
    leaders = {}
    for ours in OURS:
        mine = result.best(ours)
        others = [result.within(ours, other) for other in OTHERS]
        rivals = [summary for summary in others if summary]
        if mine is None:
            continue
        best = max(rivals, key=lambda summary: summary.accuracy, default=None)
        if best is None or mine.accuracy >= best.accuracy:
            leaders[ours] = "best"
        elif is_tied(mine, best):
            leaders[ours] = "tied"
        else:
            leaders[ours] = f"{mine.accuracy - best.accuracy:.2f}"
    return leaders


def tabulate_leaders(results: Sequence[SetResult]) -> str:
    """Tell where each of ours stands in Table 2."""
    rows = [[result.name, *(find_leaders(result).get(ours, NONE) for ours in OURS)] for result in results]
    return format_markdown(["", *OURS], rows)


def measure_speed(result: SetResult, ours: str) -> tuple[str, str, float] | None:
    """Compare with the fastest other that is as accurate: its name, its seconds, and how many times ours they are.

    Where none is, the time of the longest fit that was tried stands for what it would take at least.
    """
    mine = result.best(ours)
    if mine is None:
        return None
    found = result.fastest(ours)
    if found:
        name, summary = found
        return name, format_seconds(summary.seconds), summary.seconds / mine.seconds
    return "none", f"> {format_seconds(result.longest)}", result.longest / mine.seconds


def tabulate_speed(results: Sequence[SetResult], ours: str) -> str:
    """Compare the time of one of ours with that of the fastest of the others at equal or better accuracy."""
    rows, ratios = [], []
    for result in results:
        speed = measure_speed(result, ours)
        mine = result.best(ours)
        if speed and mine:
            name, seconds, ratio = speed
            ratios.append(ratio)
            sign = "> " if name == "none" else ""
            rows.append(
                [result.name, f"{mine.accuracy:.2f}", format_seconds(mine.seconds), name, seconds, f"{sign}{ratio:.1f}"]
            )
    rows.append(["median", "", "", "", "", f"**{median(ratios):.1f}**"])
    return format_markdown(["", f"{ours} %", "seconds", "fastest peer as accurate", "its seconds", "times ours"], rows)


def format_seconds(seconds: float) -> str:
    """Write seconds with two digits that matter."""
    return f"{seconds:.3f}" if seconds < 0.1 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"


def format_summary(summary: Summary | None) -> str:
    """Write an accuracy with its standard deviation."""
    return f"{summary.accuracy:.2f} ± {summary.deviation:.2f}" if summary else NONE


def _format_accuracy(summary: Summary | None, best: float) -> str:
    text = format_summary(summary)
    return f"**{text}**" if summary and summary.accuracy == best else text


def _format_both(summary: Summary | None, best: float, fastest: float) -> str:
    if summary is None:
        return NONE
    seconds = format_seconds(summary.seconds)
    return f"{_format_accuracy(summary, best)}<br>{f'**{seconds}**' if summary.seconds == fastest else seconds} s"
