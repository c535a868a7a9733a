"""
Watch a fit and stop it your own way
====================================

A callback sees the run after each iteration, and can stop it. This one records the
seconds, and stops when the out-of-patch accuracy is good enough for us.
``time_limit=`` is the simplest way to bound a fit: it keeps the model so far.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mpboost import Callback, MPBoostClassifier

X_train, X_test, y_train, y_test = train_test_split(
    *load_digits(return_X_y=True), random_state=0
)


class GoodEnough(Callback):
    """Record the seconds, and stop when the out-of-patch score reaches a goal."""

    def __init__(self, goal):
        self.goal = goal

    def on_fit_begin(self, run):
        """Start the clock."""
        self.start = time.perf_counter()
        self.seconds = []

    def on_iteration_end(self, run):
        """Tell whether to stop."""
        self.seconds.append(time.perf_counter() - self.start)
        return run.oop_scores[-1] >= self.goal


# %%
# A goal of 100 % is never reached, so that fit stops by itself.

watchers = {goal: GoodEnough(goal) for goal in (1.0, 0.96)}
models = {
    f"goal {goal:.0%}": MPBoostClassifier(callbacks=[watchers[goal]], random_state=0)
    for goal in watchers
}
models["time limit"] = MPBoostClassifier(time_limit=0.2, random_state=0)
for name, model in models.items():
    model.fit(X_train, y_train)
    print(f"{name}: {model.n_iter_} iterations, {model.stop_reason_}")
    print(f"  test accuracy {model.score(X_test, y_test):.3f}")

# %%
# The same seed makes the same run, so one curve shows both: the longer run, and where
# the shorter one stopped.

seconds, scores = watchers[1.0].seconds, models["goal 100%"].oop_scores_
n_short = models["goal 96%"].n_iter_
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(seconds, scores, color="#0072B2", label="out-of-patch accuracy")
ax.plot(
    seconds[n_short - 1],
    scores[n_short - 1],
    "o",
    color="#D55E00",
    markersize=9,
    label="good enough: 96 %",
)
ax.set(
    xlabel="seconds",
    ylabel="out-of-patch accuracy",
    title="Ten digits: how soon is it good enough?",
    ylim=(0.8, 1),
)
ax.legend(loc="lower right")
ax.grid(alpha=0.3)
plt.show()
