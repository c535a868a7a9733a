"""Builds of revisions side by side, kept in ``build/compare`` so that the next comparison finds them."""

import io
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.folders import PROJECT

FOLDER = PROJECT / "build" / "compare"


class BuildError(Exception):
    """A revision is unknown or does not build; the message says which and why."""


@dataclass(frozen=True)
class Build:
    """A revision, and the folder that its package is installed in."""

    name: str
    site: Path


def find_commit(revision: str) -> str:
    """Find the commit that a revision names."""
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    finished = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise BuildError(f"git knows no revision {revision!r}: name a commit, a branch or a tag, such as HEAD~1.")
    return finished.stdout.strip()


def build_commit(commit: str) -> Build:
    """Build what was committed, unless that was done before."""
    folder = FOLDER / commit
    build = Build(commit[:10], folder / "site")
    stamp = folder / "built"
    if not stamp.exists():
        # An archive rather than a worktree of git's, which would stay on its list after `make clean`.
        archive = subprocess.run(["git", "archive", commit], cwd=PROJECT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder / "source", filter="data")
        _install(folder / "source", folder)
        stamp.touch()
    return build


def build_work_tree() -> Build:
    """Build the files as they are; only what changed is compiled again."""
    folder = FOLDER / "work-tree"
    _install(PROJECT, folder)
    return Build("work tree", folder / "site")


def _install(source: Path, folder: Path) -> None:
    """Install a package from its source into a folder, with the compiler's output kept beside it."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    options = ["--no-build-isolation", "--no-deps", "--upgrade", "--target", str(folder / "site")]
    command = [*pip, *options, "-C", f"build-dir={folder / 'cmake'}", str(source)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise BuildError(f"{source} does not build:\n{finished.stdout[-3000:]}{finished.stderr[-3000:]}")
