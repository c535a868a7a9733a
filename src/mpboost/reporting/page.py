"""The function ``report`` and the object that it returns."""

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
        "inference": "no_validation",
        "fit_seconds": [Interval(Real, 0, None, closed="left"), None],
    },
    prefer_skip_nested_validation=True,
)
def report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    title: str | None = None,
    image_shape: Sequence[int] | None = None,
    n_features: int = 20,
    n_observations: int = 25,
    inference: Any = None,
    fit_seconds: float | None = None,
) -> "Report":
    """Make a report on a fitted model: how good it is, what it learned, which rows are hard, and what to do.

    Nothing is trained. On the training table, all measures of quality are out-of-patch: each row is judged only by
    learners that were not trained on it. On any other table they are about its rows, with the out-of-patch estimate
    beside them. The page says which. A million rows take a few seconds; scatter plots show a sample that includes the
    hardest rows.

    Parameters
    ----------
    model : estimator of mpboost
        A fitted or loaded model.
    X : array-like, data frame, sparse matrix or BinnedDataset of shape (n_samples, n_features)
        The table that it was trained on, in the same order, or new rows. The index of a data frame, if any, gives the
        names of rows. Of the numbers of a dataset the report shows the bins, as ranges.
    y : array-like of shape (n_samples,)
        The labels, or numbers, of these rows; None for those of a dataset.
    title : str, default=None
        Title of the report; None for the class of the model.
    image_shape : (int, int), default=None
        Rows and columns of pixels, if each feature is a pixel: rows and q are shown as images.
    n_features, n_observations : int, default=20, 25
        How many of the most probable features, and of the hardest rows, to list.
    inference : FeatureInference, default=None
        What ``infer_features`` returned, to be shown in a section of its own.
    fit_seconds : float, default=None
        Duration of the fit in seconds, to be shown in the report: models do not record it, so that the same fit gives
        the same file.

    Returns
    -------
    report : Report
        Displays itself in a notebook; ``save`` writes an HTML file, ``dict`` returns all of its content.

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
    ['worst perimeter', 'worst area']
    >>> report.dict()["about"]["is_training"]
    True
    """
    start = time.perf_counter()
    summary = summarise(
        model,
        X,
        y,
        title=title,
        image_shape=image_shape,
        n_features=n_features,
        n_observations=n_observations,
        inference=inference,
    )
    summary["timings"]["fit"] = fit_seconds
    summary["timings"]["report"] = time.perf_counter() - start
    summary["made"] = datetime.now().astimezone().isoformat(timespec="seconds")
    return Report(summary)


class Report:
    """A report on a model, as returned by ``report``: an HTML page, and its content as a dict.

    Parameters
    ----------
    summary : dict
        Content of the report: strings, numbers, lists and dicts.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import mpboost
    >>> X, y = load_iris(return_X_y=True)
    >>> page = mpboost.report(mpboost.MPBoostClassifier(random_state=0).fit(X, y), X, y, title="Iris")
    >>> page.dict()["title"], page.html().startswith("<!doctype html>")
    ('Iris', True)
    >>> page.save(Path(tempfile.mkdtemp()) / "iris.html")
    """

    def __init__(self, summary: dict[str, Any]):
        self._summary = summary

    def __repr__(self) -> str:
        score = self._summary["score"]
        known = "no out-of-patch score" if score["oop"] is None else f"{score['name']} {score['oop']:.2f}"
        if not self._summary["about"]["is_training"]:
            main = next(each for each in score["measures"] if each["name"] == score["main"])
            value = "unknown" if main["value"] is None else f"{main['value']:.2f}"
            n_rows = self._summary["about"]["n_rows"]
            known = f"{main['title']} {value} on {n_rows} new row{'' if n_rows == 1 else 's'}"
        return f"Report({self._summary['title']!r}, {known})"

    def dict(self) -> dict[str, Any]:
        """Return the content of the report, in types that JSON has.

        Returns
        -------
        summary : dict
            A copy of the content.
        """
        copy: dict[str, Any] = json.loads(json.dumps(self._summary, allow_nan=False))
        return copy

    def html(self) -> str:
        """Return the report as one HTML page that loads nothing else and also works without JavaScript.

        Returns
        -------
        page : str
            The HTML.
        """
        return render(self._summary)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the report to an HTML file; if that fails, no partial file is left.

        Parameters
        ----------
        path : str or path
            The file.
        force : bool, default=False
            Whether to replace an existing file; otherwise FileExistsError is raised.
        """
        page = self.html().encode()
        with write_whole(path, force=force) as temporary:
            temporary.write_bytes(page)

    def _repr_html_(self) -> str:
        # In an iframe, so that its styles do not change the notebook; its scripts cannot reach the notebook.
        page = html.escape(self.html(), quote=True)
        style = "width:100%;height:720px;border:1px solid rgba(128,128,128,.35);border-radius:8px"
        return f'<iframe sandbox="allow-scripts" style="{style}" title="Report" srcdoc="{page}"></iframe>'
