"""The report: what people ask for, and what they get."""

import html
import json
import os
import time
from collections.abc import Sequence
from datetime import datetime
from numbers import Integral, Real
from typing import Any

from mpboost._compat import Interval, validate_params
from mpboost._files import write_whole
from mpboost.reporting.rendering import render
from mpboost.reporting.summary import summarise


@validate_params(
    {
        "model": "no_validation",
        "X": "no_validation",
        "y": "no_validation",
        "title": [str, None],
        "image_shape": [tuple, list, None],
        "n_features": [Interval(Integral, 1, 1000, closed="both")],
        "n_observations": [Interval(Integral, 1, 1000, closed="both")],
        "fit_seconds": [Interval(Real, 0, None, closed="left"), None],
    },
    prefer_skip_nested_validation=True,
)
def report(
    model: Any,
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    image_shape: Sequence[int] | None = None,
    n_features: int = 20,
    n_observations: int = 25,
    fit_seconds: float | None = None,
) -> "Report":
    """Report on a fitted model: how good it is, what it learned, which rows are hard, and what to do about it.

    Nothing is trained, and all that is said of the model's quality comes from learners that never saw the rows that
    they judge. A million rows take a few seconds: of points in pictures there is a sample, and the hardest.

    Parameters
    ----------
    model : estimator of mpboost
        A fitted model, or one from a file.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The table that it was trained on. Data frames give the names of columns and, if they have any, of rows.
    y : array-like of shape (n_samples,)
        The labels, or numbers, that it was trained on.
    title : str, default=None
        What stands on top; None for the kind of model.
    image_shape : (int, int), default=None
        Rows and columns of pixels, if each feature is a pixel: shows rows, and q, as images.
    n_features, n_observations : int, default=20, 25
        How many of the likeliest features, and of the hardest rows, are listed.
    fit_seconds : float, default=None
        How long the fit took, if it is to be shown; models do not know.

    Returns
    -------
    report : Report
        Shows itself in a notebook; ``save`` writes a page, ``dict`` gives all that is on it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import mpboost
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = mpboost.MPBoostClassifier(random_state=0).fit(X, y)
    >>> report = mpboost.report(model, X, y, title="Tumours")
    >>> report
    Report('Tumours', accuracy 0.96)
    >>> [feature["name"] for feature in report.dict()["features"]["ranking"][:2]]
    ['worst area', 'worst concave points']
    """
    start = time.perf_counter()
    summary = summarise(
        model, X, y, title=title, image_shape=image_shape, n_features=n_features, n_observations=n_observations
    )
    summary["timings"]["fit"] = fit_seconds
    summary["timings"]["report"] = time.perf_counter() - start
    summary["made"] = datetime.now().astimezone().isoformat(timespec="seconds")
    return Report(summary)


class Report:
    """What ``report`` gives: a summary of a model, as a page and as a dict.

    Parameters
    ----------
    summary : dict
        What is shown; made of strings, numbers, lists and dicts.
    """

    def __init__(self, summary: dict[str, Any]):
        self._summary = summary

    def __repr__(self) -> str:
        score = self._summary["score"]
        known = "no out-of-patch score" if score["oop"] is None else f"{score['name']} {score['oop']:.2f}"
        return f"Report({self._summary['title']!r}, {known})"

    def dict(self) -> dict[str, Any]:
        """Give all that the page shows, as what JSON knows.

        Returns
        -------
        summary : dict
            A copy.
        """
        copy: dict[str, Any] = json.loads(json.dumps(self._summary, allow_nan=False))
        return copy

    def html(self) -> str:
        """Give the page: one text that needs nothing else, with or without JavaScript.

        Returns
        -------
        page : str
            HTML.
        """
        return render(self._summary)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file: all of it or, if that fails, nothing.

        Parameters
        ----------
        path : str or path
            Where to.
        force : bool, default=False
            Whether a file that is there already may be replaced; if not, there is a FileExistsError.
        """
        page = self.html().encode()
        with write_whole(path, force=force) as temporary:
            temporary.write_bytes(page)

    def _repr_html_(self) -> str:
        # A page of its own, for its styles must not touch the notebook's; scripts may run in it, but not reach out.
        page = html.escape(self.html(), quote=True)
        style = "width:100%;height:720px;border:1px solid rgba(128,128,128,.35);border-radius:8px"
        return f'<iframe sandbox="allow-scripts" style="{style}" title="Report" srcdoc="{page}"></iframe>'
