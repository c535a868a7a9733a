"""Fitted attributes that have an entry for each training row: models of very many rows do without them."""

from typing import Any

#: The most training rows of models that keep such attributes, about 30 bytes for each row.
MAX_ROWS = 20_000_000

#: What all models have, and classifiers and regressors besides.
OF_ALL = ("observation_probabilities_", "observation_difficulty_", "oop_counts_", "_targets")
OF_CLASSIFIERS, OF_REGRESSORS = ("oop_decision_function_",), ("oop_prediction_",)

#: The attribute that has what they are computed from, if that is put off, until they are.
ROW_SOURCE = "_row_source"


def list_row_attributes(cls: type[Any]) -> tuple[str, ...]:
    """List the attributes of a class of estimators that have an entry for each training row."""
    return (*OF_ALL, *(OF_CLASSIFIERS if hasattr(cls, "predict_proba") else OF_REGRESSORS))


def explain_absence(name: str, n_samples: int) -> str:
    """Say why a model does not have such an attribute."""
    if n_samples <= MAX_ROWS:
        return f"This model has no {name}: it was made by truncate. The model that was truncated has it."
    return (
        f"This model has no {name}: it was trained on {n_samples} rows, and what is about single rows is kept for at "
        f"most {MAX_ROWS}."
    )
