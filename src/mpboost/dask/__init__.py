"""Training and prediction on a Dask cluster: the model of one machine, bit for bit."""

from mpboost.dask.estimators import (
    DaskMPBoostClassifier,
    DaskMPBoostRegressor,
    DaskMPGradientBoostingClassifier,
    DaskMPGradientBoostingRegressor,
)

__all__ = [
    "DaskMPBoostClassifier",
    "DaskMPBoostRegressor",
    "DaskMPGradientBoostingClassifier",
    "DaskMPGradientBoostingRegressor",
]
