"""Count scikit-learn's checks for every estimator: ``python -m tests.support.battery.count``."""

import warnings
from collections import Counter
from unittest import SkipTest

import sklearn

from .checks import list_checks
from .subjects import SUBJECTS


def run_check(check):
    """Run a check; tell how it ended."""
    try:
        check.run(check.estimator)
    except SkipTest:
        return "skipped"
    except Exception:
        return "expected failures" if check.reason else "failed"
    return "passed"


def main():
    """Print a line for every estimator."""
    warnings.simplefilter("ignore")
    for subject in filter(lambda subject: subject.configurations, SUBJECTS):
        ends = Counter(run_check(check) for check in list_checks(subject))
        counts = ", ".join(f"{ends[end]} {end}" for end in ("passed", "expected failures", "failed", "skipped"))
        print(f"{subject.name}, scikit-learn {sklearn.__version__}: {ends.total()} checks: {counts}")  # noqa: T201


if __name__ == "__main__":
    main()
