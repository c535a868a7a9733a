"""Rows where they are and as large as they are hard."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from mpboost import (
    MPBoostClassifier,
    ObservationsDisplay,
)
from tests.support.pictures import DIGITS, assert_apart, draw, each_task, fit

plt = pytest.importorskip("matplotlib.pyplot", reason="displays draw with matplotlib")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@each_task
def test_observations_are_as_large_as_they_are_probable(models, data, task):
    model, (_, X, _) = models[task], data[task]
    display = ObservationsDisplay.from_estimator(model, X)
    draw(display)
    p = model.observation_probabilities_
    assert len(display.rows) == len(X)
    np.testing.assert_array_equal(display.weights, p)
    np.testing.assert_array_equal(p[display.rows[display.hardest]], np.sort(p)[:-7:-1])
    n_groups = len(model.classes_) if hasattr(model, "classes_") else 1
    before, after = display.points_[:n_groups], display.points_[n_groups:]
    assert {area for points in before for area in points.get_sizes()} == {8.0}
    areas = np.sort(np.concatenate([points.get_sizes() for points in after]))
    assert areas[-1] <= 120
    np.testing.assert_allclose(areas, np.maximum(areas[-1] * np.sort(p) / p.max(), 0.6))


@pytest.mark.slow
@pytest.mark.parametrize(("image_shape", "n_hardest"), [((8, 8), 6), ((8, 8), 15), (None, 6), (None, 25)])
def test_observations_notes_are_apart_and_inside_the_axes(models, image_shape, n_hardest):
    display = ObservationsDisplay.from_estimator(
        models["many classes"], DIGITS.data, image_shape=image_shape, n_hardest=n_hardest
    )
    draw(display)
    assert len(display.notes_) == n_hardest
    boxes = [note.offsetbox.get_window_extent() for note in display.notes_]
    assert_apart(boxes)
    frame = display.ax_[1].get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1 for box in boxes)


def test_observations_notes_shorten_long_labels():
    targets = np.array(["Iris versicolor of the Gaspé peninsula", "b"])
    display = ObservationsDisplay([[0, 0], [1, 1]], [2.0, 1.0], targets, [7, 8], hardest=[0, 1]).plot()
    words = sorted(note.offsetbox.get_text() for note in display.notes_)
    assert words == ["row 7\nlabel Iris vers…", "row 8\nlabel b"]


def test_observations_lines_to_notes_do_not_cross():
    rng = np.random.default_rng(0)
    positions = rng.normal(size=(12, 2))
    display = ObservationsDisplay(positions, np.ones(12), np.zeros(12), np.arange(12), hardest=np.arange(12)).plot()
    places = {tuple(note.xybox): note.xy for note in display.notes_}
    assert len(places) == 12
    to_fractions = display.ax_[1].transLimits.transform
    lines = [(to_fractions(point), np.array(place)) for place, point in places.items()]

    def side(start, end, point):
        (a, b), (c, d) = end - start, point - start
        return np.sign(a * d - b * c)

    for i, (a, b) in enumerate(lines):
        for c, d in lines[i + 1 :]:
            assert side(a, b, c) == side(a, b, d) or side(c, d, a) == side(c, d, b)


def test_observations_that_are_all_easy_are_dots():
    display = ObservationsDisplay([[0, 0], [1, 1]], [0.0, 0.0], [0.5, 1.5], [0, 1], is_class=False).plot()
    draw(display)
    assert display.points_[1].get_sizes().tolist() == [0.6, 0.6]


def test_observations_thumbnails_are_the_hardest_rows(models):
    model = models["many classes"]
    display = ObservationsDisplay.from_estimator(model, DIGITS.data, image_shape=(8, 8), n_hardest=2)
    hardest = np.lexsort((-model.observation_difficulty_, -model.observation_probabilities_))[:2]
    np.testing.assert_array_equal(display.images, DIGITS.images[hardest])
    np.testing.assert_array_equal(display.targets[display.hardest], model.classes_[DIGITS.target[hardest]])


def test_observations_of_equal_probability_are_ranked_by_difficulty(data):
    _, X, y = data["two classes"]
    model = fit(MPBoostClassifier, X, y, weighting="hard_logistic")
    assert len(np.unique(model.observation_probabilities_)) < 4
    display = ObservationsDisplay.from_estimator(model, X, n_hardest=3)
    likeliest = model.observation_probabilities_ == model.observation_probabilities_.max()
    hardest = model.observation_difficulty_[display.rows[display.hardest]]
    np.testing.assert_array_equal(hardest, np.sort(model.observation_difficulty_[likeliest])[:-4:-1])


@pytest.mark.slow
def test_observations_keep_the_hardest_of_many(models):
    model = models["many classes"]
    display = ObservationsDisplay.from_estimator(model, DIGITS.data, max_points=200)
    assert len(np.unique(display.rows)) == 200
    hardest = np.lexsort((-model.observation_difficulty_, -model.observation_probabilities_))
    assert set(hardest[:40]) <= set(display.rows)
    others = set(display.rows) - set(hardest[:40])
    assert len(others & set(hardest[300:])) > 50


def test_observations_of_one_axes_are_those_after_training(models):
    _, axes = plt.subplots()
    display = ObservationsDisplay.from_estimator(models["many classes"], DIGITS.data, n_hardest=0, ax=axes)
    assert display.ax_ is axes
    assert len(display.points_) == 10
    assert display.notes_ == []
    with pytest.raises(ValueError, match="not 3"):
        display.plot(ax=[axes] * 3)


def test_observations_by_difficulty_leave_out_rows_that_nobody_judges(models, data):
    model, (_, X, _) = models["gradients of classes"], data["gradients of classes"]
    judged = ~np.isnan(model.observation_difficulty_)
    display = ObservationsDisplay.from_estimator(model, X, size="difficulty")
    np.testing.assert_array_equal(display.rows, np.flatnonzero(judged))
    assert not np.isnan(display.weights).any()


def test_observations_are_where_an_embedding_puts_them(models):
    embedding = np.random.default_rng(0).normal(size=(len(DIGITS.data), 2))
    display = ObservationsDisplay.from_estimator(models["many classes"], DIGITS.data, embedding=embedding)
    np.testing.assert_array_equal(display.positions, embedding)
    assert display.ax_[0].get_xlabel() == ""


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, scipy.sparse.csc_array], ids=["pandas", "polars", "sparse"]
)
def test_observations_are_the_same_for_any_table(models, make):
    model = models["many classes"]
    table = pl.DataFrame(DIGITS.data) if make is pl.DataFrame else make(DIGITS.data)
    display, twin = (ObservationsDisplay.from_estimator(model, X, image_shape=(8, 8)) for X in (table, DIGITS.data))
    np.testing.assert_array_equal(display.images, twin.images)
    # Components may be mirrored, and solvers differ in the last digits.
    np.testing.assert_allclose(np.abs(display.positions), np.abs(twin.positions), atol=1e-2)


def test_observations_take_one_feature_and_missing_values():
    X = np.r_[np.nan, np.arange(49.0)][:, None]
    display = ObservationsDisplay.from_estimator(fit(MPBoostClassifier, X, X[:, 0] > 20), X)
    draw(display)
    assert np.isfinite(display.positions).all()


def test_observations_of_words_need_an_embedding():
    X = pd.DataFrame({"a": ["u", "v"] * 30, "b": np.arange(60)})
    model = fit(MPBoostClassifier, X, X["b"] > 20)
    with pytest.raises(ValueError, match="pass embedding="):
        ObservationsDisplay.from_estimator(model, X)
    assert len(ObservationsDisplay.from_estimator(model, X, embedding=np.ones((60, 2))).rows) == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": DIGITS.data[:5]}, "X has 5 rows, but the model was fitted on 600"),
        ({"image_shape": (4, 4)}, "product is 64"),
        ({"embedding": np.ones((600, 3))}, r"must have shape \(600, 2\)"),
        ({"size": "weight"}, "size='weight' must be"),
    ],
)
def test_observations_refuse_what_makes_no_picture(models, arguments, message):
    with pytest.raises(ValueError, match=message):
        ObservationsDisplay.from_estimator(models["many classes"], **{"X": DIGITS.data, **arguments})


def test_observations_by_difficulty_need_rows_that_were_out_of_patch(models, data):
    _, X, y = data["two classes"]
    model = clone(models["two classes"]).set_params(max_samples=len(X), stopping=None).fit(X, y)
    with pytest.raises(ValueError, match="choose a smaller max_samples"):
        ObservationsDisplay.from_estimator(model, X, size="difficulty")
