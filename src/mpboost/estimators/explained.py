"""How fitted models are explained: contributions of features, trees to look at, leaves of rows, smaller models."""

from abc import abstractmethod
from copy import copy
from importlib import import_module
from numbers import Integral
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mpboost._arrays import Floats
from mpboost._threads import make_threads
from mpboost.boosting.ensembles import TreeEnsemble
from mpboost.boosting.explaining import compute_contributions, compute_interactions, find_leaves
from mpboost.data.tables import Table
from mpboost.datasets.dataset import BinnedDataset
from mpboost.estimators.base import MinipatchBooster
from mpboost.estimators.decision_tree import (
    OTHER,
    DecisionTree,
    FeatureNames,
    TreeSequence,
    list_columns,
    make_decision_tree,
)
from mpboost.estimators.frames import make_frame
from mpboost.estimators.inputs import check_table
from mpboost.estimators.memory import measure_available_memory
from mpboost.estimators.row_attributes import ROW_SOURCE, list_row_attributes
from mpboost.outputs.contributions import ExplainedOutput


def check_n_estimators(n_estimators: Any, n_learners: int) -> None:
    """Raise an error for a number of learners that a model of ``n_learners`` cannot be cut to."""
    is_whole = isinstance(n_estimators, Integral) and not isinstance(n_estimators, bool)
    if not is_whole or not 1 <= n_estimators <= n_learners:
        raise ValueError(
            f"n_estimators={n_estimators!r} must be a whole number between 1 and {n_learners}, the learners there are."
        )


def _check_covers(trees: TreeEnsemble, remedy: str) -> None:
    if not trees.forest.has_covers:
        raise ValueError(
            "This model does not know how many training rows went down each branch, since an older version saved it: "
            + remedy
        )


class ExplainedBooster(MinipatchBooster):
    """Base class of models whose trees can be explained and looked at."""

    @property
    @abstractmethod
    def _explained_output(self) -> ExplainedOutput:
        """The output that contributions add up to."""

    @abstractmethod
    def _decode_leaves(self, index: int, values: Floats) -> list[Any]:
        """Say what the leaves of a tree say, given their values: labels or numbers."""

    @overload
    def predict_contributions(
        self, X: Any, *, background: Any = None, as_explanation: Literal[False] = False
    ) -> Floats: ...
    @overload
    def predict_contributions(self, X: Any, *, background: Any = None, as_explanation: Literal[True]) -> Any: ...
    def predict_contributions(self, X: Any, *, background: Any = None, as_explanation: bool = False) -> Any:
        """Compute how much each feature contributes to the prediction for each row: exact Shapley values.

        The contributions of a row and the expected output, which is the last entry, add up to the output that is
        explained:

        - ``MPBoostClassifier``: the share of the learners that vote for the class. Of two classes it is that of
          ``classes_[1]``: ``predict_vote_share(X)[:, 1]``; of more classes there is one for each, which is
          ``predict_vote_share(X)`` unless ``multiclass="oc"``, where a learner votes for several classes.
        - ``MPBoostRegressor``: ``predict(X)``.
        - ``MPGradientBoostingClassifier``: ``decision_function(X)``, the log odds.
        - ``MPGradientBoostingRegressor``: the raw prediction. That is ``predict(X)``, or its logarithm with
          ``loss="poisson"`` and ``loss="gamma"``; with your own loss, what ``inverse_link`` is applied to.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to explain.
        background : array-like, data frame or sparse matrix of shape (n_background, n_features), default=None
            If None, a feature that is left out sends a row both ways at a split, in proportion to the training rows
            (their weights in the minipatch of the tree); this is known as the path-dependent way. If rows are given, a
            feature that is left out is replaced by that of each of them, and the mean is taken: the interventional
            way. Some hundred rows are enough; time grows with their number.
        as_explanation : bool, default=False
            Whether to return a ``shap.Explanation``, which the plots of shap take. Needs shap.

        Returns
        -------
        contributions : array of shape (n_samples, n_features + 1) or (n_samples, n_classes, n_features + 1)
            With more than two classes, a row for each class. A ``shap.Explanation`` if ``as_explanation``.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from mpboost import MPGradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = MPGradientBoostingRegressor(n_estimators=50, random_state=0).fit(X, y)
        >>> contributions = model.predict_contributions(X[:3])
        >>> contributions.shape
        (3, 11)
        >>> bool(abs(contributions.sum(axis=1) - model.predict(X[:3])).max() < 1e-10)
        True
        """
        self._get_trees("predict_contributions explains")
        table = check_table(self, X)
        contributions = self._contribute(table, background)
        if isinstance(X, BinnedDataset):
            X.check_intact()
        contributions = contributions[:, 0] if contributions.shape[1] == 1 else contributions
        return self._make_explanation(contributions, table) if as_explanation else contributions

    def predict_interactions(self, X: Any) -> Floats:
        """Compute how much pairs of features contribute together to the prediction for each row: interactions.

        A row gets a symmetric matrix, whose rows add up to its contributions (``predict_contributions``). Off the
        diagonal is what two features contribute together beyond what each contributes without the other, half of it
        for each; on the diagonal is what a feature contributes on its own. The last row and column have only the
        expected output, in the corner. These are the Shapley interaction values of shap and XGBoost. Features that are
        unknown send a row both ways, in proportion to the training rows.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows to explain. The matrix of each takes memory: 8 (n_features + 1)^2 bytes, for each of more than two
            classes.

        Returns
        -------
        interactions : array of shape (n_samples, n_features + 1, n_features + 1)
            With more than two classes (n_samples, n_classes, n_features + 1, n_features + 1).

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from mpboost import MPGradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = MPGradientBoostingRegressor(n_estimators=50, random_state=0).fit(X, y)
        >>> interactions = model.predict_interactions(X[:3])
        >>> interactions.shape
        (3, 11, 11)
        >>> bool(abs(interactions.sum(axis=2) - model.predict_contributions(X[:3])).max() < 1e-10)
        True
        """
        trees = self._get_trees("predict_interactions explains")
        _check_covers(trees, "fit it again.")
        table = check_table(self, X)
        self._check_room(table)
        interactions = compute_interactions(trees, table, self._explained_output, make_threads(self.n_jobs))
        if isinstance(X, BinnedDataset):
            X.check_intact()
        return interactions[:, 0] if interactions.shape[1] == 1 else interactions

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : int32 array of shape (n_samples, n_trees)
            Numbers of leaves: ``TreeNode.leaf`` of the trees in ``trees_``.
        """
        trees = self._get_trees("apply finds leaves of")
        leaves = find_leaves(trees, check_table(self, X), make_threads(self.n_jobs))
        if isinstance(X, BinnedDataset):
            X.check_intact()
        return leaves

    @property
    def trees_(self) -> TreeSequence:
        """The trees of the model, each made when it is asked for; see ``get_tree``. Other learners have none."""
        if not isinstance(getattr(self, "_ensemble", None), TreeEnsemble):
            raise AttributeError("trees_")  # what lists attributes expects this error, and nothing else
        return self._list_trees("trees_ shows")

    def get_tree(self, index: int) -> DecisionTree:
        """Get a tree to look at: with names of features, thresholds in the units of the table, and categories.

        Parameters
        ----------
        index : int
            Number of the tree, in the order of training; negative numbers count from the last one.

        Returns
        -------
        tree : DecisionTree
            The tree; ``print(tree.to_text())`` shows it.

        Examples
        --------
        >>> from mpboost import MPBoostClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]] * 5, ["low", "low", "high", "high"] * 5
        >>> model = MPBoostClassifier(n_estimators=3, max_samples=10, random_state=0).fit(X, y)
        >>> print(model.get_tree(0).to_text())
        x0 ≤ 2.5 or missing?  (cover 10)
        ├─ yes: low  (cover 7)
        └─ no:  high  (cover 3)
        """
        return self._list_trees("get_tree shows")[index]

    def trees_to_frame(self) -> Any:
        """List all splits and leaves of all trees in a data frame, as LightGBM's ``trees_to_dataframe`` does.

        Returns
        -------
        frame : pandas.DataFrame or polars.DataFrame
            A row for each split and leaf, with names such as 0-S1 and 0-L2: its tree, depth, children and parent, what
            a split compares (``split_feature``, ``threshold``, ``categories`` that go left, ``missing_direction``),
            the ``cover``, and the ``value`` of a leaf (or a column for each class, if leaves have a number for each).
        """
        trees = self._list_trees("trees_to_frame lists")
        several = self._get_trees("trees_to_frame lists").forest.n_outputs > 1
        return make_frame(list_columns(trees, self.classes_ if several else None), "trees_to_frame")

    def truncate(self, n_estimators: int) -> Self:
        """Make a smaller model of the first learners.

        Its predictions are those of ``staged_predict`` at this stage. It has the scores of that iteration, but nothing
        about single training rows, and ``feature_importances_``, p and q are still those of the whole model.

        Parameters
        ----------
        n_estimators : int
            Number of learners to keep.

        Returns
        -------
        model : estimator
            A fitted model; this one stays as it is.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mpboost import MPBoostClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = MPBoostClassifier(n_estimators=20, stopping=None, random_state=0).fit(X, y)
        >>> small = model.truncate(5)
        >>> len(small.trees_)
        5
        """
        check_is_fitted(self)
        n_learners = len(self._ensemble)
        check_n_estimators(n_estimators, n_learners)
        model = copy(self)
        dropped = {"_run", ROW_SOURCE, *list_row_attributes(type(self))}
        state = {name: value for name, value in vars(self).items() if name not in dropped}
        state |= {
            "_ensemble": self._ensemble.first(n_estimators),
            "best_iteration_": n_estimators,
            "stop_reason_": f"cut to {n_estimators} of {n_learners} learners",
            "oop_score_": float(self.oop_scores_[n_estimators - 1]),
            "oop_interval_": np.full(2, np.nan),
        }
        if hasattr(self, "validation_scores_"):
            state["validation_score_"] = float(self.validation_scores_[n_estimators - 1])
        if hasattr(self, "_colours"):
            state["_colours"] = self._colours[:n_estimators]
        model.__dict__ = state
        return model

    def _limit(self, n_estimators: int | None) -> Self:
        """Return the model that predicts with so many learners; None for all."""
        return self if n_estimators is None else self.truncate(n_estimators)

    def _contribute(self, table: Table, background: Any = None) -> Floats:
        """Compute contributions to all outputs, (n_rows, n_outputs, n_features + 1)."""
        trees = self._get_trees("Contributions explain")
        others = None if background is None else self._check_background(background)
        if others is None:
            _check_covers(trees, "fit it again, or pass rows as background.")
        contributions = compute_contributions(trees, table, self._explained_output, make_threads(self.n_jobs), others)
        if isinstance(background, BinnedDataset):
            background.check_intact()
        return contributions

    def _check_room(self, table: Table) -> None:
        """Raise an error if the interactions of a table do not fit in memory."""
        n_outputs, width, available = self._explained_output.n_outputs, table.n_columns + 1, measure_available_memory()
        needed = 8 * table.n_rows * n_outputs * width**2
        if available is not None and needed > available:
            raise MemoryError(
                f"Interactions of {table.n_columns} features for {table.n_rows} rows"
                f"{f' and {n_outputs} classes' if n_outputs > 1 else ''} take {needed / 2**30:.1f} GiB of memory, but "
                f"only {available / 2**30:.1f} GiB are available: explain fewer rows at a time."
            )

    def _get_trees(self, what: str) -> TreeEnsemble:
        """Get the native trees, or say that there are none."""
        check_is_fitted(self)
        if not isinstance(self._ensemble, TreeEnsemble):
            name = type(self.estimator).__name__
            raise TypeError(f"{what} native trees, not {name} as a weak learner: fit with estimator=None.")
        return self._ensemble

    def _list_trees(self, what: str) -> TreeSequence:
        trees, names = self._get_trees(what), self._name_features()

        def make(index: int) -> DecisionTree:
            tree = trees.forest.tree(index)
            return make_decision_tree(tree, names, self._decode_leaves(index, tree.leaf_values))

        return TreeSequence(len(trees), make)

    def _check_background(self, background: Any) -> Table:
        try:
            return check_table(self, background)
        except (TypeError, ValueError) as error:
            raise type(error)(f"background: {error}") from error

    def _name_features(self) -> FeatureNames:
        n_features = self._get_trees("There are no").mapper.n_features
        names = getattr(self, "feature_names_in_", [f"x{feature}" for feature in range(n_features)])
        categories = getattr(self, "categories_", [None] * n_features)
        has_other = getattr(self, "has_other_category_", [False] * n_features)
        known = [
            None if values is None else [*values, *([OTHER] if other else [])]
            for values, other in zip(categories, has_other, strict=True)
        ]
        return FeatureNames([str(name) for name in names], self._get_trees("There are no").mapper, known)

    def _make_explanation(self, contributions: Floats, table: Table) -> Any:
        try:
            shap = import_module("shap")
        except ImportError as error:
            raise ImportError("as_explanation=True needs shap: pip install shap.") from error
        names, (data, shown) = self._name_features().names, self._show_values(table)
        values, base = contributions[..., :-1], contributions[..., -1]
        if values.ndim == 3:
            values = np.moveaxis(values, 1, 2)
        labels = [str(label) for label in self.classes_] if values.ndim == 3 else None
        return shap.Explanation(values, base, data=data, display_data=shown, feature_names=names, output_names=labels)

    def _show_values(self, table: Table) -> tuple[Floats, NDArray[Any]]:
        """Return the values of a table as numbers, with codes for categories, and as people know them."""
        data = np.asarray(table.to_array(), dtype=np.float64)
        shown = data.astype(object)
        for feature, known in enumerate(self._name_features().categories):
            if known is not None:
                codes = np.where(np.isnan(data[:, feature]), len(known), data[:, feature]).astype(int)
                shown[:, feature] = np.array([*known, None], dtype=object)[codes]
        return data, shown
