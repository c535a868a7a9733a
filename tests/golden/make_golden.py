"""Make the golden file of the current format: ``python tests/golden/make_golden.py``, by hand, once per format.

A golden file stays as it is once its format is released.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

import mpboost
from mpboost.container import SCHEMA

FOLDER = Path(__file__).parent


def make_golden() -> None:
    """Save a small model, and beside it what it predicts for a few rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)).round(2), columns=["age", "größe", "", "身長"])
    X[rng.random(X.shape) < 0.1] = np.nan
    X["colour"] = rng.choice(["red", "green", "blue"], len(X))
    y = np.where(X.drop(columns="colour").fillna(0).sum(axis=1) > 0, "yes", "no")
    model = mpboost.MPBoostClassifier(n_estimators=20, max_samples=40, max_features=2, random_state=0)
    model.fit(X, y, X_val=X, y_val=y)
    mpboost.save_model(model, FOLDER / f"format-{SCHEMA}.mpboost")
    rows = X.iloc[:50]
    expected = {
        "rows": rows.astype(object).where(rows.notna(), None).to_numpy().tolist(),
        "feature_names": list(X.columns),
        "labels": model.predict(rows).tolist(),
        "probabilities": model.predict_proba(rows).tolist(),
        "decisions": model.decision_function(rows).tolist(),
        "oop_score": model.oop_score_,
    }
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    (FOLDER / f"format-{SCHEMA}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_golden()
