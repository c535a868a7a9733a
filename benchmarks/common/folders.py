"""Where files go."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
#: Results of whole runs, which git tracks and the documentation quotes.
RESULTS = PROJECT / "benchmarks" / "results"
#: Results of quick or partial runs, and fits that a long run keeps to go on from.
TRIALS = PROJECT / "build" / "benchmarks"
#: Pictures that the documentation shows.
IMAGES = PROJECT / "docs" / "images" / "paper"
