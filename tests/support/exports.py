"""Fitted models of all kinds to export, each fitted once."""

from functools import cache

from benchmarks.export.subjects import fit_subject


@cache
def fit_model(name):
    """Fit the model of a name, once."""
    return fit_subject(name, 400)
