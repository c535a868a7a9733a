"""Predictions for rows in the forms that metrics ask for: classes or numbers, decisions, probabilities."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpboost._arrays import Floats
from mpboost.outputs.calibration import VoteCalibration
from mpboost.outputs.votes import break_ties, pick_winners


class Predictions(Protocol):
    """Predictions for some rows; each form is only computed when it is asked for."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def predict(self) -> NDArray[Any]:
        """Return codes of classes, 0, 1, 2, ..., or numbers."""

    def decide(self) -> Floats:
        """Return the decision function: one number per row for two classes, one per class for more."""

    def estimate(self) -> Floats:
        """Return the probabilities of the classes."""


class VotePredictions:
    """Predictions by votes.

    Parameters
    ----------
    counts : array of shape (n_rows, n_classes)
        Votes for each class; every row has some.
    ranks : uint16 array of shape (n_classes,)
        At a tie, the class of the highest rank wins.
    make_calibration : callable
        Makes the calibration that converts votes to probabilities.
    """

    def __init__(
        self,
        counts: NDArray[Any],
        ranks: NDArray[np.uint16],
        make_calibration: Callable[[], VoteCalibration],
    ):
        self._counts = counts
        self._ranks = ranks
        self._make_calibration = make_calibration

    def __len__(self) -> int:
        return len(self._counts)

    @cached_property
    def _broken(self) -> tuple[Floats, NDArray[np.intp]]:
        return break_ties(self._counts, self._ranks)

    def predict(self) -> NDArray[np.intp]:
        """Return the codes of the classes with the most votes."""
        return pick_winners(self._counts, self._ranks)

    def decide(self) -> Floats:
        """Return shares of votes, which can be compared between rows that differ in their number of votes."""
        totals = self._counts.sum(axis=1)
        if self._counts.shape[1] > 2:
            return np.asarray(self._broken[0] / totals[:, None])
        leads = self._counts[:, 1].astype(np.float64) - self._counts[:, 0]
        leads[leads == 0] = 0.5 if self._ranks[1] else -0.5
        return np.asarray(leads / totals)

    def estimate(self) -> Floats:
        """Return calibrated probabilities."""
        return self._make_calibration().predict(*self._broken)


class NumberPredictions:
    """Predictions of numbers.

    Parameters
    ----------
    numbers : float64 array of shape (n_rows,)
        The predictions.
    """

    def __init__(self, numbers: Floats):
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def predict(self) -> Floats:
        """Return the numbers."""
        return self._numbers

    def decide(self) -> Floats:
        """Raise an error: numbers have no decision function."""
        raise TypeError("Predictions of numbers have no decision function.")

    def estimate(self) -> Floats:
        """Raise an error: numbers have no probabilities."""
        raise TypeError("Predictions of numbers have no probabilities.")


class CachedPredictions:
    """Predictions that compute each form once, for several metrics of the same rows.

    Parameters
    ----------
    predictions : Predictions
        The predictions.
    """

    def __init__(self, predictions: Predictions):
        self._predictions = predictions

    def __len__(self) -> int:
        return len(self._predictions)

    def predict(self) -> NDArray[Any]:
        """Return codes of classes, or numbers."""
        return self._predicted

    def decide(self) -> Floats:
        """Return the decision function."""
        return self._decided

    def estimate(self) -> Floats:
        """Return the probabilities of the classes."""
        return self._estimated

    @cached_property
    def _predicted(self) -> NDArray[Any]:
        return self._predictions.predict()

    @cached_property
    def _decided(self) -> Floats:
        return self._predictions.decide()

    @cached_property
    def _estimated(self) -> Floats:
        return self._predictions.estimate()


class ConstantClass:
    """The same prediction for all rows: the shares of the classes, and the largest class.

    Parameters
    ----------
    sizes : array of shape (n_classes,)
        How many rows, or how much weight, each class has.
    n_rows : int
        Number of rows.
    """

    def __init__(self, sizes: NDArray[Any], n_rows: int):
        self._sizes, self._n_rows = sizes, n_rows

    def __len__(self) -> int:
        return self._n_rows

    def predict(self) -> NDArray[np.intp]:
        """Return the largest class."""
        return np.full(self._n_rows, np.argmax(self._sizes))

    def decide(self) -> Floats:
        """Return zeros: no row is more likely of a class than another."""
        return np.zeros(self._n_rows if len(self._sizes) == 2 else (self._n_rows, len(self._sizes)))

    def estimate(self) -> Floats:
        """Return the shares of the classes."""
        return np.tile(self._sizes / self._sizes.sum(), (self._n_rows, 1))
