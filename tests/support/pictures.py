"""What tests of displays share: small images, models that are fitted in a moment, and boxes of what was drawn."""

import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

TASKS = ["two classes", "many classes", "numbers", "gradients of classes", "gradients of numbers"]
each_task = pytest.mark.parametrize("task", TASKS)

DIGITS = Bunch(**{name: values[:600] for name, values in load_digits().items() if name in ("data", "target", "images")})


def fit(estimator, X, y, **parameters):
    return estimator(**{"n_estimators": 12, "random_state": 0, **parameters}).fit(X, y)


def draw(display):
    """Draw for real: some faults show only then."""
    display.figure_.canvas.draw()
    return display.figure_


def read_boxes(artists):
    return [artist.get_window_extent() for artist in artists]


def assert_apart(boxes):
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])
