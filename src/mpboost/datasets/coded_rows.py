"""Rows in bins in memory, with their targets and weights: what estimators are trained on as on a dataset on disk."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpboost.data.targets import Targets
from mpboost.datasets.coded_table import CodedTable
from mpboost.datasets.known import Known


@dataclass(frozen=True)
class CodedRows:
    """Rows in bins in memory.

    Attributes
    ----------
    table : CodedTable
        The codes.
    targets : array, CodedTargets or None
        The targets.
    sample_weight : float64 array of shape (n_rows,) or None
        The weights.
    """

    table: CodedTable
    targets: Targets | None
    sample_weight: NDArray[np.float64] | None

    @property
    def known(self) -> Known:
        """The features, their categories and bins."""
        return self.table.known

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.table.n_columns

    @property
    def feature_names(self) -> list[Any] | None:
        """Names of the features; None if they have none."""
        names = self.known.features["feature_names_in_"]
        return None if names is None else names.tolist()

    @property
    def max_bins(self) -> int:
        """The most bins that a feature may have."""
        return self.known.max_bins

    def check_intact(self) -> None:
        """Do nothing: memory does not change as files do."""
