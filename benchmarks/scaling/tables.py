"""What the fits came to, as tables and as pictures."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.common.output import print_heading, print_line, print_table
from benchmarks.common.pictures import save_picture
from benchmarks.scaling.fits import Curve, Fit, Outcome, Results
from benchmarks.scaling.picture import draw_scaling, find_slope, format_size

#: What is drawn: its label, the figure of an outcome, and the unit.
PANELS = (("seconds of a fit, one thread", "seconds", 1.0), ("peak memory beyond the data, MB", "peak_bytes", 1e6))


def describe_share(outcomes: Iterable[Outcome]) -> str:
    """Say how much of a core the fits had: a busy machine does not change seconds of the processor by much."""
    measured = [outcome for outcome in outcomes if not outcome.reason]
    share = sum(outcome.seconds for outcome in measured) / sum(outcome.wall_seconds for outcome in measured)
    return f"seconds are the processor's; the fits had {100 * share:.0f} % of a core"


def show(fits: Sequence[Fit], results: Results, images: Path) -> None:
    """Print tables with slopes, and draw a picture, for each axis."""
    print_line(describe_share(results.outcomes[fit] for fit in fits))
    for axis, other in (("rows", "columns"), ("columns", "rows")):
        fits_of_axis = [fit for fit in fits if fit.axis == axis]
        fixed = f"{getattr(fits_of_axis[0], f'n_{other}'):,} {other}"
        curves: dict[str, Curve] = {}
        for fit in fits_of_axis:
            curves.setdefault(fit.contestant, []).append((fit.size, results.outcomes[fit]))
        print_heading(f"As {axis} grow, {fixed}")
        show_tables(curves, axis)
        panels = {
            label: {name: _pick(curve, figure, unit) for name, curve in curves.items()}
            for label, figure, unit in PANELS
        }
        picture = draw_scaling(panels, f"number of {axis} ({fixed})", _name_missing(curves))
        for path in save_picture(picture, images / f"scaling_{axis}"):
            print_line(f"drawn: {path}")


def show_tables(curves: Mapping[str, Curve], axis: str) -> None:
    """Print what all sizes came to, and why some came to nothing."""
    sizes = [format_size(size) for size, _ in next(iter(curves.values()))]
    for label, figure, unit in (*PANELS, ("accuracy, %", "accuracy", 0.01)):
        rows = []
        for name, curve in curves.items():
            cells = [f"{getattr(outcome, figure) / unit:.4g}" if not outcome.reason else "-" for _, outcome in curve]
            slope = "" if figure == "accuracy" else f"{find_slope(_pick(curve, figure)):.2f}"
            rows.append([name, *cells, slope])
        print_table([label, *sizes, "slope"], rows)
    for name, curve in curves.items():
        for size, outcome in curve:
            if outcome.reason:
                print_line(f"{name}, {format_size(size)} {axis}: {outcome.reason}")


def _name_missing(curves: Mapping[str, Curve]) -> list[str]:
    missing = {name: [format_size(size) for size, out in curve if out.reason] for name, curve in curves.items()}
    return [f"{name} ({', '.join(sizes)})" for name, sizes in missing.items() if sizes]


def _pick(curve: Curve, figure: str, unit: float = 1.0) -> list[tuple[int, float]]:
    """Pick a figure of the sizes that have it; what is not positive has no place on a logarithmic axis."""
    picked = [(size, getattr(outcome, figure) / unit) for size, outcome in curve]
    return [(size, value) for size, value in picked if value > 0]
