"""The pictures of the frontier: a panel of curves for each set, and a map of who leads where."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from benchmarks.frontier.cells import Curves, compare_cells

N_COLUMNS = 6
#: Colour and line of each runner: ours thick, the others by library and learning rate.
STYLES = {
    "MPBoost": ("tab:blue", "-", 2.0),
    "MPGradientBoosting": ("tab:red", "-", 2.0),
    "LightGBM, 0.1": ("tab:green", "-", 1.0),
    "LightGBM, 0.3": ("tab:green", "--", 1.0),
    "XGBoost, 0.1": ("tab:orange", "-", 1.0),
    "XGBoost, 0.3": ("tab:orange", "--", 1.0),
}
#: Points at which the map's colours end, and below the best score at which a panel's axis does.
FULL_COLOUR, LOWEST = 2.0, 8.0


def draw_curves(curves: Curves, budgets: Sequence[float]) -> Figure:
    """Draw a panel for each set: score against time."""
    n_rows = math.ceil(len(curves) / N_COLUMNS)
    figure, panels = plt.subplots(n_rows, N_COLUMNS, figsize=(2.6 * N_COLUMNS, 1.9 * n_rows + 0.8), squeeze=False)
    for panel in panels.flat[len(curves) :]:
        panel.axis("off")
    for panel, (name, runners) in zip(panels.flat, curves.items(), strict=False):
        for runner, scores in runners.items():
            colour, line, width = STYLES[runner]
            panel.plot(budgets, scores, line, color=colour, linewidth=width, marker=".", markersize=2 * width)
        best = np.nanmax(list(runners.values()))
        lowest = np.nanmin(list(runners.values()))
        margin = 0.06 * min(best - lowest, LOWEST) or 0.1
        panel.set(xscale="log", xlim=(budgets[0] / 1.2, budgets[-1] * 1.2))
        panel.set_ylim(max(lowest, best - LOWEST) - margin, best + margin)
        panel.set_title(name, fontsize=8)
        panel.tick_params(labelsize=6)
        panel.grid(alpha=0.3)
    handles = [
        plt.Line2D([], [], color=colour, linestyle=line, linewidth=width, label=name)
        for name, (colour, line, width) in STYLES.items()
    ]
    figure.legend(handles=handles, loc="upper center", ncols=len(handles), fontsize=8, frameon=False)
    figure.supxlabel("seconds of the fit, one thread", fontsize=8)
    figure.supylabel("test accuracy % or 100 R²", fontsize=8)
    figure.tight_layout(rect=(0.005, 0, 1, 1 - 0.35 / figure.get_figheight()))
    return figure


def draw_map(curves: Curves, budgets: Sequence[float]) -> Figure:
    """Draw a cell for each set and budget: by how many points the best of ours leads the best of the others."""
    leads = np.array([compare_cells(runners) for runners in curves.values()])
    figure, panel = plt.subplots(figsize=(7.0, 0.24 * len(curves) + 1.4))
    norm = TwoSlopeNorm(0.0, -FULL_COLOUR, FULL_COLOUR)
    shown = np.ma.masked_invalid(np.nan_to_num(leads, nan=np.nan, posinf=FULL_COLOUR, neginf=-FULL_COLOUR))
    image = panel.imshow(shown, cmap="RdBu", norm=norm, aspect="auto")
    for (row, column), lead in np.ndenumerate(leads):
        if not math.isnan(lead):
            text = f"{lead:+.1f}" if math.isfinite(lead) else ("only ours" if lead > 0 else "none")
            is_dark = abs(lead) > 0.7 * FULL_COLOUR
            panel.text(column, row, text, ha="center", va="center", fontsize=5, color="white" if is_dark else "black")
    panel.set_xticks(range(len(budgets)), [f"{budget:g}" for budget in budgets], fontsize=7)
    panel.set_yticks(range(len(curves)), list(curves), fontsize=7)
    panel.set_xlabel("seconds of the fit, one thread", fontsize=8)
    panel.set_title("Points by which the best of ours leads the best of the others", fontsize=9)
    figure.colorbar(image, ax=panel, fraction=0.03, pad=0.02).ax.tick_params(labelsize=6)
    figure.tight_layout()
    return figure
