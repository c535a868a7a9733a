"""Peak memory of a fit, in a process of its own: ``python -m benchmarks.speed.memory 400000 50`` prints JSON."""

import json
import sys

from benchmarks.common.measure import measure_growth
from benchmarks.data.made_up import make_table
from mpboost import MPBoostClassifier


def measure_fit(n_rows: int, n_columns: int) -> dict[str, int]:
    """Fit once; return the bytes of the table and by how much the peak of memory exceeds that before the fit."""
    model = MPBoostClassifier(n_estimators=30, random_state=0)
    model.fit(*make_table(1000, n_columns))  # loads what is loaded at first use
    X, y = make_table(n_rows, n_columns)
    return {"data": X.nbytes, "extra": measure_growth(lambda: model.fit(X, y))[0]}


if __name__ == "__main__":
    print(json.dumps(measure_fit(int(sys.argv[1]), int(sys.argv[2]))))
