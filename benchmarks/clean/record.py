"""What a run is measured with, kept in a JSON file beside its results, and whether it may go on with that."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.common.folders import PROJECT
from benchmarks.common.measure import name_processor
from benchmarks.contestants import CONTESTANTS

#: What figures depend on: a change of anything else leaves a run as it is.
MEASURED = ("src", "native", "CMakeLists.txt", "benchmarks/clean/fits.py", "benchmarks/contestants", "benchmarks/data")
#: What must be the same in all parts of a run, beside the code.
KEPT = ("versions", "processor", "workers", "limit_seconds")
CHANGED = " with changes"


class MixedRunError(Exception):
    """What would be added was measured with something else; the message says what differs."""


class RunRecord:
    """The parts of a run: one for each time that the command was called, the last one under way."""

    def __init__(self, path: Path, part: dict[str, Any]):
        self._path = path
        self.parts: list[dict[str, Any]] = read_parts(path)
        self.parts.append(part | {"began": _now(), "ended": _now(), "rows": 0})

    def note_row(self) -> None:
        """Note on file that one more row was measured, and when."""
        self.parts[-1]["rows"] += 1
        self.parts[-1]["ended"] = _now()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"parts": self.parts}, indent=2) + "\n", encoding="utf-8")


def read_parts(path: Path) -> list[dict[str, Any]]:
    """Read the parts of a run from its file; none if there is no file."""
    return json.loads(path.read_text(encoding="utf-8"))["parts"] if path.is_file() else []


def describe_part(contestants: Sequence[str], *, n_workers: int, limit: float) -> dict[str, Any]:
    """Say what is measured, with what, on what, and what else the machine does."""
    packages = {CONTESTANTS[name].package: CONTESTANTS[name].version for name in contestants}
    return {
        "commit": _ask_git("rev-parse", "HEAD") + (CHANGED if differs_from("HEAD") else ""),
        "versions": {"python": platform.python_version()} | packages,
        "processor": name_processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "workers": n_workers,
        "pinned": n_workers > 1 and hasattr(os, "sched_setaffinity"),
        "threads": 1,
        "limit_seconds": limit,
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def check_mix(known: Sequence[dict[str, Any]], part: dict[str, Any]) -> None:
    """Raise a MixedRunError if a part was not measured with the code, the libraries and the machine of those before."""
    differences = []
    if part["commit"].endswith(CHANGED):
        differences.append("the code has changes that are not committed")
    for before in known[-1:]:
        commit = before["commit"]
        if commit.endswith(CHANGED) or differs_from(commit):
            differences.append(f"the code is not that of {commit}")
        differences += [
            f"{name}: {before[name]} before, {part[name]} now" for name in KEPT if before[name] != part[name]
        ]
    if differences:
        raise MixedRunError(
            f"This would not be one run: {'; '.join(differences)}.\n"
            "Commit what is to be measured, start anew with --fresh, or mix with --mix, which the page will say."
        )


def differs_from(commit: str) -> bool:
    """Tell whether the files that figures depend on differ from those of a commit, or cannot be compared."""
    command = ["git", "diff", "--quiet", commit, "--", *MEASURED]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, check=False).returncode != 0


def _ask_git(*arguments: str) -> str:
    finished = subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False)
    return finished.stdout.strip() or "unknown"


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
