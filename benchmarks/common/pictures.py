"""Pictures on file."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure


def save_picture(figure: Figure, stem: Path, *, has_svg: bool = True) -> list[Path]:
    """Save a picture as PNG and perhaps as SVG, the same bytes whenever it is the same picture; close it."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_suffix(".png")]
    figure.savefig(paths[0], dpi=150)
    if has_svg:
        paths.append(stem.with_suffix(".svg"))
        with mpl.rc_context({"svg.hashsalt": "mpboost", "svg.fonttype": "none"}):
            figure.savefig(paths[1], dpi=72, metadata={"Date": None})  # of what is rasterised in it
    plt.close(figure)
    return paths
