"""Make the golden files of the current format by hand, once: ``python tests/model_files/golden/make_golden.py``.

A golden file stays as it is once its format is released.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

import mpboost
from mpboost.model_files.container import SCHEMA

FOLDER = Path(__file__).parent

#: For each kind of model, the model, and how targets are made of numbers.
KINDS = {
    "two-classes": (mpboost.MPBoostClassifier(), lambda values: np.where(values > 0, "yes", "no")),
    "many-classes": (mpboost.MPBoostClassifier(), lambda values: np.digitize(values, [-1.0, 1.0])),
    "colours": (mpboost.MPBoostClassifier(multiclass="oc"), lambda values: np.digitize(values, [-1.0, 0.0, 1.0])),
    "numbers": (mpboost.MPBoostRegressor(), lambda values: values),
    "gradient-two-classes": (
        mpboost.MPGradientBoostingClassifier(oop_size=0.2),
        lambda values: np.where(values > 0, "yes", "no"),
    ),
    "gradient-many-classes": (
        mpboost.MPGradientBoostingClassifier(oop_size=0.2),
        lambda values: np.digitize(values, [-1.0, 1.0]),
    ),
    "gradient-numbers": (mpboost.MPGradientBoostingRegressor(oop_size=0.2), lambda values: values),
}


def make_golden() -> None:
    """Save small models, and beside each what it predicts for a few rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 4)).round(2), columns=["age", "größe", "", "身長"])
    X[rng.random(X.shape) < 0.1] = np.nan
    X["colour"] = rng.choice(["red", "green", "blue"], len(X))
    values = X.drop(columns="colour").fillna(0).sum(axis=1).to_numpy()
    rows = X.iloc[:30]
    for kind, (model, make_target) in KINDS.items():
        y = make_target(values)
        model.set_params(n_estimators=12, max_samples=40, max_features=2, random_state=0)
        model.fit(X, y, X_val=X, y_val=y)
        mpboost.save_model(model, FOLDER / f"format-{SCHEMA}-{kind}.mpb")
        methods = [name for name in ("predict", "predict_proba", "decision_function") if hasattr(model, name)]
        expected = {
            "rows": rows.astype(object).where(rows.notna(), None).to_numpy().tolist(),
            "feature_names": list(X.columns),
            "oop_score": model.oop_score_,
            "outputs": {name: getattr(model, name)(rows).tolist() for name in methods},
        }
        text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
        (FOLDER / f"format-{SCHEMA}-{kind}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_golden()
