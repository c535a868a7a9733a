"""Docstrings of estimators: they tell the truth about parameters, their defaults and choices, and what a fit leaves."""

import ast
import inspect
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import StrOptions

from mpboost import OOPSearch
from tests.support.battery import SUBJECTS

ESTIMATORS = list(dict.fromkeys(subject.estimator for subject in SUBJECTS))
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
each_with_parameters = pytest.mark.parametrize("estimator", [*ESTIMATORS, OOPSearch])


def list_parameters(estimator):
    signature = inspect.signature(estimator.__init__)
    return {name: p.default for name, p in signature.parameters.items() if name != "self"}


def read_section(estimator, title):
    """Read the entries of a section of an estimator's docstring: their kinds, then the lines below, by name."""
    doc = inspect.getdoc(estimator)
    body = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", doc, re.MULTILINE | re.DOTALL).group(1)
    entries = re.findall(r"^(\w[\w, ]*) : (.*)\n((?:    .*\n|\n)*)", body, re.MULTILINE)
    return {name: (kind, text) for names, kind, text in entries for name in names.split(", ")}


@each_with_parameters
def test_documentation_lists_the_parameters_in_order(estimator):
    assert list(read_section(estimator, "Parameters")) == list(list_parameters(estimator))


@each_with_parameters
def test_documentation_states_the_defaults(estimator):
    kinds = {name: kind.partition("default=") for name, (kind, _) in read_section(estimator, "Parameters").items()}
    stated = {
        name: ast.literal_eval(value) if sep else inspect.Parameter.empty for name, (_, sep, value) in kinds.items()
    }
    assert stated == list_parameters(estimator)


@each_with_parameters
def test_documentation_names_all_words_that_parameters_may_be(estimator):
    unnamed = [
        (name, word)
        for name, (kind, text) in read_section(estimator, "Parameters").items()
        for constraint in estimator._parameter_constraints[name]
        if isinstance(constraint, StrOptions)
        for word in constraint.options
        if f'"{word}"' not in kind + text
    ]
    assert unnamed == []


@each_with_parameters
def test_documentation_names_no_words_that_parameters_must_not_be(estimator):
    wrong = [
        (name, word)
        for name, (kind, _) in read_section(estimator, "Parameters").items()
        for word in re.findall(r'"(\w+)"', kind)
        if not any(
            word in constraint.options
            for constraint in estimator._parameter_constraints[name]
            if isinstance(constraint, StrOptions)
        )
    ]
    assert wrong == []


@each_with_parameters
def test_parameters_are_all_checked(estimator):
    assert estimator._parameter_constraints.keys() == list_parameters(estimator).keys()


@each_estimator
def test_documentation_lists_what_a_fit_leaves(estimator):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    y = X["a"] > 0
    X["d"] = pd.Categorical(["u", "v"] * 20)
    model = estimator(n_estimators=2).fit(X, y, X_val=X, y_val=y)
    left = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert set(read_section(estimator, "Attributes")) == left


METHODS = [
    (estimator, method)
    for estimator in ESTIMATORS
    for method in dir(estimator)
    if method == "fit" or re.match("(staged_)?(predict|decision)", method)
]


@pytest.mark.parametrize(("estimator", "method"), METHODS)
def test_method_documents_its_arguments(estimator, method):
    function = getattr(estimator, method)
    doc = inspect.getdoc(function)
    for argument in list(inspect.signature(function).parameters)[1:]:
        assert re.search(rf"^{argument} : ", doc, re.MULTILINE), argument
    assert re.search(r"^(Returns|Yields)$", doc, re.MULTILINE)
