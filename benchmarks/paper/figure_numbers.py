"""The numbers of the figures and of the scaling, in Markdown, from the files of results."""

from statistics import fmean

from benchmarks.common.output import format_markdown
from benchmarks.common.results import Row
from benchmarks.scaling.picture import find_slope, format_size


def tabulate_ablation(rows: list[Row]) -> str:
    """Average the accuracies of Figure 2a over the repeats."""
    moments = sorted({int(row["iteration"]) for row in rows})
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    runs: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        runs.setdefault((row["setting"], int(row["iteration"])), []).append(float(row["test_accuracy"]))
    lines = [[name, *(f"{100 * fmean(runs[name, t]):.2f}" for t in moments)] for name in settings]
    return format_markdown(["test accuracy %", *(f"t = {t}" for t in moments)], lines)


def tabulate_curves(rows: list[Row]) -> str:
    """List the accuracies of Figure 2b."""
    scores = ("train", "oop", "test")
    lines = [[row["iteration"], *(f"{100 * float(row[name]):.2f}" for name in scores), row["event"]] for row in rows]
    return format_markdown(["iteration", "training %", "out-of-patch %", "test %", ""], lines)


def describe_observations(rows: list[Row]) -> dict[str, str]:
    """Say how much of p is on the hardest rows of Figure 3, and which are shown."""
    return {
        "hardest_share": f"{100 * float(rows[0]['share_of_hardest_percent']):.0f}",
        "hardest_times": f"{float(rows[0]['times_uniform']):.0f}",
        "hardest_rows": ", ".join(f"{row['row']} ({row['label']})" for row in rows),
    }


def tabulate_features(rows: list[Row]) -> str:
    """List how q gathers on some pixels in Figure 4."""
    lines = [
        [row["iteration"], row["effective_features"], f"{100 * float(row['share_on_inked_pixels']):.1f}"]
        for row in rows
    ]
    return format_markdown(["iteration", "effective number of features", "% of q on pixels that are ever inked"], lines)


def tabulate_scaling(rows: list[Row], axis: str, figure: str, unit: float = 1.0) -> str:
    """List a figure of all contestants as rows or columns grow, and the power that it grows by if it is no accuracy."""
    curves: dict[str, dict[int, float]] = {}
    for row in rows:
        if row["axis"] == axis:  # of two rows for the same fit the later one holds
            curves.setdefault(row["contestant"], {})[int(row[f"n_{axis}"])] = float(row[figure]) / unit
    sizes = sorted({size for curve in curves.values() for size in curve})
    lines = []
    for contestant, curve in curves.items():
        known = [(size, curve[size]) for size in sizes if curve.get(size, 0) > 0]
        cells = [f"{value:.3g}" if (value := curve.get(size, 0)) > 0 else "-" for size in sizes]
        lines.append([contestant, *cells, "" if figure == "accuracy" else f"{find_slope(known):.2f}"])
    return format_markdown(["", *map(format_size, sizes), "slope"], lines)
