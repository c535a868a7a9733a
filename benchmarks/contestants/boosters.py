"""Gradient boosters that are libraries of their own: LightGBM, XGBoost, CatBoost."""

from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.contestants.clock import StageClock
from benchmarks.contestants.contestant import Entry, Grid, Labels, Plan, Settings, WatchedContestant
from benchmarks.contestants.ensembles import fill_depth, list_boosters
from benchmarks.data.split_set import SplitSet


class _Booster(WatchedContestant):
    """A histogram booster with a learning rate."""

    def list_members(self, grid: Grid) -> list[Settings]:
        return list_boosters(grid)

    def translate(self, settings: Settings) -> dict[str, Any]:
        return {"max_depth": settings["depth"], "learning_rate": settings["learning_rate"]}

    def watch_loss(self, X: Any, y: Labels, patience: int) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"early_stopping_rounds": patience}, {"eval_set": [(X, y)]}


class LightGBM(_Booster):
    """LightGBM, which is told at the fit which columns hold codes of categories."""

    module, classifier, regressor = "lightgbm", "LGBMClassifier", "LGBMRegressor"
    always = MappingProxyType({"verbosity": -1})

    def enter(self, split_set: SplitSet, plan: Plan, **parameters: Any) -> Entry:
        model = self.make(plan, is_regression=split_set.is_regression, **parameters)
        told = {"categorical_feature": list(split_set.categorical)} if split_set.categorical else {}
        return Entry(model, split_set.X_train, split_set.X_test, told)

    def watch_loss(self, X: Any, y: Labels, patience: int) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"early_stopping_rounds": patience}, {"eval_X": X, "eval_y": y}

    def limit_leaves(self, n_leaves: int) -> dict[str, Any]:
        return {"num_leaves": n_leaves}

    def count_leaves(self, model: Any) -> int:
        return sum(tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"])

    def translate(self, settings: Settings) -> dict[str, Any]:
        depth, rate = settings["depth"], settings["learning_rate"]
        return {"max_depth": depth or -1, "learning_rate": rate, **self.limit_leaves(fill_depth(depth))}

    def watch(self, entry: Entry, y: Labels, clock: StageClock) -> Any:
        from lightgbm.callback import EarlyStopException

        losses: list[float] = []

        def look(environment: Any) -> None:
            losses.extend(result[2] for result in environment.evaluation_result_list[:1])
            if clock.tick(environment.iteration + 1):
                raise EarlyStopException(int(np.argmin(losses)) if losses else environment.iteration, [])

        return entry.model.fit(entry.X_train, y, callbacks=[look], **entry.fit_arguments)

    def predict_stage(self, model: Any, X: Any, n_trees: int) -> Labels:
        return model.predict(X, num_iteration=n_trees)


class XGBoost(_Booster):
    """XGBoost, which takes categories in data frames."""

    module, classifier, regressor = "xgboost", "XGBClassifier", "XGBRegressor"

    def enter(self, split_set: SplitSet, plan: Plan, **parameters: Any) -> Entry:
        if not split_set.categorical:
            return super().enter(split_set, plan, **parameters)
        model = self.make(plan, is_regression=split_set.is_regression, enable_categorical=True, **parameters)
        return Entry(model, *_to_frames(split_set))

    def limit_leaves(self, n_leaves: int) -> dict[str, Any]:
        return {"max_leaves": n_leaves, "max_depth": 0, "grow_policy": "lossguide", "min_child_weight": 0}

    def count_leaves(self, model: Any) -> int:
        return sum(tree.count("leaf=") for tree in model.get_booster().get_dump())

    def watch(self, entry: Entry, y: Labels, clock: StageClock) -> Any:
        from xgboost.callback import TrainingCallback

        class Look(TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                return clock.tick(epoch + 1)

        return entry.model.set_params(callbacks=[Look()]).fit(entry.X_train, y, verbose=False, **entry.fit_arguments)

    def predict_stage(self, model: Any, X: Any, n_trees: int) -> Labels:
        return model.predict(X, iteration_range=(0, n_trees))


class CatBoost(_Booster):
    """CatBoost, which takes categories as strings in data frames; missing ones are one of them."""

    module, classifier, regressor = "catboost", "CatBoostClassifier", "CatBoostRegressor"
    plan_names = ("n_estimators", "random_seed", "thread_count")
    always = MappingProxyType({"verbose": 0, "allow_writing_files": False})

    def enter(self, split_set: SplitSet, plan: Plan, **parameters: Any) -> Entry:
        if not split_set.categorical:
            return super().enter(split_set, plan, **parameters)
        categorical = list(split_set.categorical)
        frames = _to_frames(split_set)
        for frame in frames:
            for column in categorical:
                frame[column] = frame[column].astype(object).fillna("missing").astype(str)
        model = self.make(plan, is_regression=split_set.is_regression, cat_features=categorical, **parameters)
        return Entry(model, *frames)

    def translate(self, settings: Settings) -> dict[str, Any]:
        return {"depth": settings["depth"], "learning_rate": settings["learning_rate"]}

    def watch(self, entry: Entry, y: Labels, clock: StageClock) -> Any:
        class Look:
            def after_iteration(self, info: Any) -> bool:
                return not clock.tick(info.iteration)

        return entry.model.fit(entry.X_train, y, callbacks=[Look()], **entry.fit_arguments)

    def predict_stage(self, model: Any, X: Any, n_trees: int) -> Labels:
        return model.predict(X, ntree_end=n_trees)


def _to_frames(split_set: SplitSet) -> tuple[Any, Any]:
    """Make data frames for learning and testing that know the same categories."""
    import pandas as pd

    frame = pd.DataFrame(np.concatenate([split_set.X_train, split_set.X_test]))
    for column in split_set.categorical:
        frame[column] = frame[column].astype("category").cat.rename_categories(int)
    n_train = len(split_set.X_train)
    return frame[:n_train].copy(), frame[n_train:].copy()
