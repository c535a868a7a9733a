"""Searches that the tests of tuning share."""

from mpboost import MPBoostClassifier, OOPSearch

#: Nine candidates of which those with hardly a row are bad.
GRID = {"max_samples": [3, 50, 200], "max_depth": [1, 3, None]}
SIZES = {"max_samples": [3, 30, 60, 90, 120, 150]}


def make_search(parameters=GRID, model=MPBoostClassifier, **options):
    own = {"n_estimators": 60, "random_state": 0, "max_features": 4, **options.pop("estimator", {})}
    return OOPSearch(model(**own), parameters, **{"min_iterations": 5, **options})
