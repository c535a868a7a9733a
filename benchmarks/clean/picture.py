"""The picture of the run: for each set, the score of every fit against its seconds."""

import math
from collections.abc import Iterable

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from benchmarks.clean.modes import DEFAULTS, EARLY, EQUAL, OURS
from benchmarks.clean.summary import Cell, Cells

N_COLUMNS = 6
#: Colours of middle lightness and a transparent ground, so that the picture can be read on white and on black.
INK = "#767676"
COLOURS = {
    "MPGradientBoosting": "#e0312f",
    "MPBoost": "#9b5de5",
    "LightGBM": "#2a9d5c",
    "XGBoost": "#e58a00",
    "CatBoost": "#3a86d8",
    "HistGradientBoosting": "#a67c52",
    "RandomForest": "#d45fa5",
}
MARKERS = {DEFAULTS: "o", EARLY: "^", EQUAL: "s"}
#: Points below the best score at which a panel ends; what is worse is drawn there, hollow.
LOWEST = 5.0


def draw_sets(cells: Cells) -> Figure:
    """Draw a panel for each set, with the frontier: who was as fast with a score as high."""
    n_lines = math.ceil(len(cells) / N_COLUMNS)
    with plt.rc_context(dict.fromkeys(("text.color", "axes.edgecolor", "xtick.color", "ytick.color"), INK)):
        figure, panels = plt.subplots(
            n_lines, N_COLUMNS, figsize=(2.3 * N_COLUMNS, 1.75 * n_lines + 1.1), squeeze=False
        )
        figure.patch.set_alpha(0.0)
        for panel in panels.flat[len(cells) :]:
            panel.axis("off")
        for panel, (name, found) in zip(panels.flat, cells.items(), strict=False):
            _draw_set(panel, name, {key: cell for key, cell in found.items() if not math.isnan(cell.score)})
        names = [name for name in COLOURS if any(key[1] == name for found in cells.values() for key in found)]
        handles = [_make_handle(name, COLOURS[name], "*" if name in OURS else "o") for name in names]
        handles += [_make_handle(f"others: {mode}", INK, marker) for mode, marker in MARKERS.items()]
        handles.append(Line2D([], [], color=INK, linewidth=1.0, label="frontier"))
        figure.legend(handles=handles, loc="upper center", ncols=6, fontsize=8.5, frameon=False)
        figure.supxlabel("seconds of the fit, one thread", fontsize=9)
        figure.supylabel("test accuracy % or 100 R²", fontsize=9)
        figure.tight_layout(rect=(0.005, 0, 1, 1 - 0.55 / figure.get_figheight()))
    return figure


def find_frontier(cells: Iterable[Cell]) -> list[Cell]:
    """Give the cells that no other one beats in both seconds and score, from the fastest to the best."""
    frontier: list[Cell] = []
    for cell in sorted(cells, key=lambda one: (one.seconds, -one.score)):
        if not frontier or cell.score > frontier[-1].score:
            frontier.append(cell)
    return frontier


def _draw_set(panel: Axes, name: str, found: dict[tuple[str, str], Cell]) -> None:
    best = max(cell.score for cell in found.values())
    bottom = max(min(cell.score for cell in found.values()), best - LOWEST)
    seconds = [cell.seconds for cell in found.values()]
    frontier = [cell for cell in find_frontier(found.values()) if cell.score >= bottom]
    times = [*(cell.seconds for cell in frontier), 2.0 * max(seconds)]
    scores = [cell.score for cell in frontier]
    panel.step(times, [*scores, scores[-1]], where="post", color=INK, linewidth=1.0, alpha=0.7, zorder=1)
    for (mode, contestant), cell in found.items():
        is_ours, colour = contestant in OURS, COLOURS[contestant]
        panel.scatter(
            cell.seconds,
            max(cell.score, bottom),
            s=110 if is_ours else 26,
            marker="*" if is_ours else MARKERS[mode],
            facecolor="none" if cell.score < bottom else colour,
            edgecolor=colour,
            linewidth=0.8,
            zorder=4 if is_ours else 3,
        )
    margin = 0.12 * (best - bottom) or 0.1
    panel.set(xscale="log", xlim=(min(seconds) / 1.7, max(seconds) * 1.7), ylim=(bottom - margin, best + margin))
    panel.set_facecolor("none")
    panel.xaxis.set_major_locator(LogLocator(10.0))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_major_locator(MaxNLocator(4))
    panel.set_title(name, fontsize=8.5, pad=3)
    panel.tick_params(labelsize=7)
    panel.grid(color=INK, alpha=0.2, linewidth=0.6)


def _make_handle(label: str, colour: str, marker: str) -> Line2D:
    size = 10 if marker == "*" else 6
    return Line2D([], [], linestyle="none", marker=marker, markersize=size, color=colour, label=label)
