"""The progress bar of a fit."""

from mpboost._bars import Bar
from mpboost.boosting.callbacks import Callback
from mpboost.boosting.run import BoostingRun


class ProgressBar(Bar, Callback):
    """Callback that shows a progress bar with the score, the best score and the maximum time left.

    It works on terminals and in notebooks; logs get one final line. ``verbose=1`` adds it to a fit. Needs rich:
    ``pip install "mpboost[cli]"``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mpboost import MPBoostClassifier, ProgressBar
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MPBoostClassifier(n_estimators=20, callbacks=[ProgressBar()], random_state=0)
    >>> model.fit(X, y).stop_reason_  # doctest: +ELLIPSIS
    ━━━━━━━━━━━━━━━━━━━━ 20/20 out-of-patch 0.9..., best 0.9... 0:00:0...
    'n_estimators reached'
    """

    def on_fit_begin(self, run: BoostingRun) -> None:
        """Show the bar."""
        self._open(run.n_estimators, run.iteration)
        if self._progress is not None:
            self._draw(run)

    def on_iteration_end(self, run: BoostingRun) -> bool | None:
        """Move the bar from time to time: drawing takes longer than an iteration."""
        if self._is_due:
            self._draw(run)
        return None

    def on_fit_end(self, run: BoostingRun) -> None:
        """Draw the bar a last time, with the time taken in place of the time left."""
        if self._progress is not None:
            with self._closing():
                self._draw(run)

    def _draw(self, run: BoostingRun) -> None:
        self._show(run.iteration, _format_scores(run))


def _format_scores(run: BoostingRun) -> str:
    if run.iteration == 0:
        return ""
    # If the fit stops by a loss, the best loss is shown: the score at that iteration may be below the current one.
    name = run.watched.name.removesuffix(" score").removesuffix(" loss")
    loss = ["loss " + run.watched.format(run.qualities[-1])] if run.watched.is_loss else []
    best = "best " + run.watched.format(run.qualities[run.best_iteration - 1])
    return ", ".join([f"{name} {run.scores[-1]:.4f}", *loss, best])
