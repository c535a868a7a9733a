"""How time and memory grow, drawn on logarithmic axes."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

Points = Sequence[tuple[int, float]]

#: Colours of Okabe and Ito, which the colour-blind tell apart, with a marker and a dash each for prints in grey.
STYLES: dict[str, tuple[str, str, str]] = {
    "MPBoost": ("#D55E00", "o", "-"),
    "MPGradientBoosting": ("#0072B2", "s", "-"),
    "LightGBM": ("#009E73", "^", "--"),
    "XGBoost": ("#CC79A7", "v", "--"),
    "CatBoost": ("#E69F00", "D", "-."),
    "HistGradientBoosting": ("#56B4E9", "P", "-."),
    "RandomForest": ("#000000", "X", ":"),
}
#: A slope is that of the largest sizes, so many: below them what a fit has to do once weighs in.
N_SLOPE = 3


def find_slope(points: Points) -> float:
    """Find the power of the size that the values of the upper sizes grow by; NaN if there are not two."""
    if len(points) < 2:
        return np.nan
    sizes, values = np.log(points[-N_SLOPE:]).T
    return float(np.polyfit(sizes, values, 1)[0])


def format_size(size: float) -> str:
    """Write 10k, 1M."""
    for unit, letter in ((1_000_000, "M"), (1000, "k")):
        if size >= unit:
            return f"{size / unit:g}{letter}"
    return f"{size:g}"


def draw_scaling(panels: Mapping[str, Mapping[str, Points]], x_label: str, missing: Sequence[str] = ()) -> Figure:
    """Draw a panel for each figure, with a line for each contestant; name below what is not drawn."""
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    for axes, (title, curves) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for name, points in curves.items():
            colour, marker, dash = STYLES[name]
            look = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 5, "linewidth": 1.5}
            slope = find_slope(points)
            label = name if np.isnan(slope) else f"{name} ({slope:.2f})"
            axes.loglog(*np.reshape(points, (-1, 2)).T, **look, label=label)
        sizes = sorted({size for points in curves.values() for size, _ in points})
        axes.set_xticks(sizes, [format_size(size) for size in sizes])
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set(xlabel=x_label, title=title)
        axes.grid(color="0.9", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(
            title="method (slope over its upper sizes)",
            loc="upper center",
            bbox_to_anchor=(0.5, -0.16),
            ncols=2,
            frameon=False,
            fontsize="small",
            title_fontsize="small",
            handlelength=2.8,
            columnspacing=1.2,
        )
    if missing:
        note = textwrap.fill(f"Skipped or ended: {', '.join(missing)}", 110)
        figure.supxlabel(note, fontsize="small", color="0.3")
    return figure
