"""Write the tables of docs/benchmarks.md and README from the results: ``python -m benchmarks.clean.page``.

A table stands between two comments, ``<!-- benchmarks: NAME -->`` and ``<!-- end of benchmarks -->``; whatever is
between them is replaced. The picture is drawn, too.
"""

import re
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.clean.fits import HOLD_OUT, MAX_TREES
from benchmarks.clean.modes import DEFAULTS, EARLY, ENTRANTS, EQUAL, OURS, OURS_EQUAL, YARDSTICK
from benchmarks.clean.picture import draw_sets
from benchmarks.clean.plan import order_sets
from benchmarks.clean.record import read_parts
from benchmarks.clean.summary import (
    FILE,
    NEAR,
    RECORD,
    Cell,
    Cells,
    Estimate,
    collect_cells,
    compute_standings,
    list_entrants,
    take,
)
from benchmarks.common.command import make_parser
from benchmarks.common.folders import PROJECT, RESULTS
from benchmarks.common.output import format_markdown, print_line
from benchmarks.common.pictures import save_picture
from benchmarks.common.results import Row, read_rows
from benchmarks.paper.tables import format_seconds

PUBLISHED = RESULTS / "clean"
#: The pages, with the tables that each must have.
PAGES = {
    PROJECT / "docs" / "benchmarks.md": ("facts", "standings", "losses", "picture", "sets"),
    PROJECT / "README.md": ("overview",),
}
PICTURE = PROJECT / "docs" / "images" / "benchmarks"
SHOWN = (
    "![Score against seconds of each fit, a panel for each set](images/benchmarks.png)\n\n"
    "*Every fit of the run, a panel for each set: the higher and the further to the left, the better. Stars are ours; "
    "the line is the frontier, along which no fit is both faster and better. Hollow marks are below the panel.*"
)
NOT_RUN = "*Not run yet: `make benchmarks` fills this in.*"
TITLES = {DEFAULTS: "Defaults", EARLY: "Early stopping", EQUAL: "Equal time"}
_BLOCK = re.compile(r"(<!-- benchmarks: (\w+) -->\n).*?(<!-- end of benchmarks -->)", re.DOTALL)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser(__doc__, has_quick=False)
    parser.add_argument(
        "--results", type=Path, default=PUBLISHED, help="folder of the run; by default the published one"
    )
    options = parser.parse_args(arguments)
    show(options.results, is_published=options.results == PUBLISHED)
    return 0


def show(folder: Path, *, is_published: bool) -> None:
    """Write the pages and the picture, or, of a run that is not published, a page of its own beside its results."""
    blocks = write_blocks(folder)
    pages = {path: fill(path.read_text(encoding="utf-8"), blocks) for path in PAGES}
    if not is_published:
        pages = {folder / path.name: text for path, text in pages.items()}
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    cells = read_cells(folder)
    picture = PICTURE if is_published else folder / "images" / PICTURE.name
    drawn = save_picture(draw_sets(cells), picture, has_svg=False) if cells else []
    print_line(f"written: {', '.join(str(path) for path in (*pages, *drawn))}")


def fill(text: str, blocks: dict[str, str]) -> str:
    """Replace what is between the comments by the blocks that they name."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{blocks[found[2]]}\n\n{found[3]}", text)


def list_blocks(text: str) -> list[str]:
    """List the names of the blocks of a page."""
    return [found[2] for found in _BLOCK.finditer(text)]


def remove_blocks(text: str) -> str:
    """Give what a page says by itself."""
    return _BLOCK.sub("", text)


def read_cells(folder: Path) -> Cells:
    """Read the results, small sets first; nothing if there is no run."""
    path = folder / FILE
    cells = collect_cells(read_rows(path)) if path.is_file() else {}
    return {name: cells[name] for name in order_sets(cells)}


def write_blocks(folder: Path) -> dict[str, str]:
    """Write all tables."""
    cells = read_cells(folder)
    if not cells:
        return {name: NOT_RUN for names in PAGES.values() for name in names}
    rows = read_rows(folder / FILE)
    return {
        "facts": describe_run(read_parts(folder / RECORD), rows),
        "standings": "\n\n".join(f"**{TITLES[mode]}**\n\n{tabulate_standings(cells, mode)}" for mode in ENTRANTS),
        "losses": tabulate_losses(cells),
        "picture": SHOWN,
        "sets": "\n\n".join(
            f"### {TITLES[mode]}\n\n{tabulate_sets(cells, mode, count_seeds(rows))}" for mode in ENTRANTS
        ),
        "overview": f"{describe_overview(cells, rows)}\n\n{tabulate_overview(cells)}",
    }


def describe_run(parts: Sequence[dict[str, Any]], rows: Sequence[Row]) -> str:
    """Say what was measured, on what, with what, when and how."""
    last = parts[-1]
    minutes = sum((_read_time(part["ended"]) - _read_time(part["began"])).total_seconds() for part in parts) / 60.0
    seeds = count_seeds(rows)
    few, many = min(seeds.values()), max(seeds.values())
    idle = median(float(row["wall_seconds"]) / float(row["seconds"]) for row in rows)
    n_stopped = sum(bool(row["stopped"]) for row in rows)
    loads = ", ".join(f"{part['load_average'][0]:.2f}" for part in parts)
    side_by_side = "one set at a time" if last["workers"] == 1 else f"{last['workers']} sets side by side"
    lines = [
        f"{name_commits(rows).capitalize()}, "
        f"begun {parts[0]['began'][:16].replace('T', ' ')}, {minutes:.0f} minutes in {len(parts)} "
        f"part{'s' if len(parts) > 1 else ''}.",
        f"{last['processor']}, {last['cores']} cores, {last['system']}; {side_by_side}"
        f"{', each process pinned to a core of its own' if last['pinned'] else ''}, one thread each.",
        f"Load average before the run began: {loads}. A fit took {idle:.2f} times as long on the wall as on the "
        "processor (median); on a machine with nothing else to do it is 1.",
        ", ".join(f"{name} {version}" for name, version in last["versions"].items()) + ".",
        f"{len(seeds)} sets, splits of each: {f'{few} to {many}' if few < many else few}; {len(rows)} fits. "
        f"A fit of a peer may take {last['limit_seconds']:g} s; {n_stopped} were stopped there.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def name_commits(rows: Sequence[Row]) -> str:
    """Name the commit that was measured, or those of a run that was mixed."""
    commits = dict.fromkeys(row["commit"] for row in rows)
    names = ", ".join(f"`{commit[:10]}{commit[40:]}`" for commit in commits)
    return f"commit {names}" if len(commits) == 1 else f"commits {names}"


def count_seeds(rows: Sequence[Row]) -> dict[str, int]:
    """Count the splits of each set."""
    seeds: dict[str, set[str]] = {}
    for row in rows:
        seeds.setdefault(row["set"], set()).add(row["seed"])
    return {name: len(found) for name, found in seeds.items()}


def tabulate_standings(cells: Cells, mode: str) -> str:
    """Give the standing of each contestant over all sets, the best rank first."""
    standings = compute_standings(cells, mode)
    rows = [
        [
            name,
            format_estimate(one.rank, ".2f"),
            format_estimate(one.near, ".0f"),
            format_estimate(one.ratio, ".2f"),
            format_estimate(one.predict_ratio, ".2f"),
            format_estimate(one.rank_log_loss, ".2f"),
            format_estimate(one.rank_auc, ".2f"),
            str(one.n_stopped),
        ]
        for name, one in sorted(standings.items(), key=lambda item: item[1].rank.value)
    ]
    columns = ["", "mean rank", f"% within {NEAR} points of the best", "fit time", "prediction time"]
    return format_markdown([*columns, "mean rank by log loss", "by AUC", "fits stopped"], rows)


def tabulate_overview(cells: Cells) -> str:
    """Give the mean ranks of all modes in one table, with shares and times of the defaults."""
    standings = {mode: compute_standings(cells, mode) for mode in ENTRANTS}
    rows = []
    for name, one in standings[DEFAULTS].items():
        others = [standings[mode].get(name) for mode in (EARLY, EQUAL)]
        rows.append(
            [
                f"**{name}**" if name in OURS else name,
                f"{one.rank.value:.1f}",
                f"{one.near.value:.0f}",
                f"{one.ratio.value:.2g}",
                *(f"{other.rank.value:.1f}" if other else "" for other in others),
            ]
        )
    columns = ["", "mean rank", "% near the best", "time", "rank, early stopping", "rank, equal time"]
    return format_markdown(columns, rows)


def describe_overview(cells: Cells, rows: Sequence[Row]) -> str:
    """Say what the table of all modes shows."""
    return (
        f"{len(cells)} data sets, one thread, one run of {name_commits(rows)} (`make benchmarks`). Defaults: mean "
        f"rank; sets within {NEAR} points of the best accuracy or R²; median fit time, {YARDSTICK}'s being 1. "
        f"*Early stopping*: {100 * HOLD_OUT:.0f} % held out, at most {MAX_TREES} trees; ours stop by themselves. "
        f"*Equal time*: others get the seconds of {OURS_EQUAL}."
    )


def tabulate_losses(cells: Cells) -> str:
    """List the sets on which our gradient boosting is not near the best, by how many points and to whom."""
    lost: dict[str, list[str]] = {}
    worst: dict[str, float] = {}
    for index, mode in enumerate(ENTRANTS):
        names = list(list_entrants(cells, mode))
        if OURS_EQUAL not in names:
            continue
        scores = np.nan_to_num(take(cells, mode, "score"), nan=-np.inf)
        for name, line in zip(cells, scores, strict=True):
            behind = float(line.max() - line[names.index(OURS_EQUAL)])
            if behind > NEAR:
                lost.setdefault(name, [""] * len(ENTRANTS))[index] = f"{behind:.2f} ({names[int(line.argmax())]})"
                worst[name] = max(behind, worst.get(name, 0.0))
    count = (
        f"{OURS_EQUAL} is more than {NEAR} points behind the best on {len(lost)} of {len(cells)} sets, in some mode."
    )
    rows = [[name, *lost[name]] for name in sorted(lost, key=lambda one: -worst[one])]
    return f"{count}\n\n{format_markdown(['points behind', *TITLES.values()], rows)}" if rows else count


def tabulate_sets(cells: Cells, mode: str, n_seeds: dict[str, int] | None = None) -> str:
    """Give the score and the seconds of all contestants on each set; the best score is bold."""
    entrants = list_entrants(cells, mode)
    rows = []
    for name, found in cells.items():
        best = np.nanmax([found[key].score for key in entrants.values() if key in found])
        shown = [_format_cell(found.get(key), best) for key in entrants.values()]
        rows.append([name, *([str(n_seeds[name])] if n_seeds else []), *shown])
    return format_markdown(["set", *(["splits"] if n_seeds else []), *entrants], rows)


def format_estimate(estimate: Estimate, how: str) -> str:
    """Write a figure with its interval."""
    if np.isnan(estimate.value):
        return ""
    return f"{estimate.value:{how}} ({estimate.low:{how}} to {estimate.high:{how}})"


def _format_cell(cell: Cell | None, best: float) -> str:
    if cell is None:
        return ""
    mark = "†" if cell.n_stopped else ""
    if np.isnan(cell.score):
        return f"no model{mark}"
    score = f"**{cell.score:.2f}**" if cell.score == best else f"{cell.score:.2f}"
    return f"{score} ({format_seconds(cell.seconds)} s{mark})"


def _read_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


if __name__ == "__main__":
    sys.exit(main())
