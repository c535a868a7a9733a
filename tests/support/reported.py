"""What tests of reports share: the kinds of tasks, and models that are fitted in a moment."""

TASKS = ["two classes", "many classes", "numbers", "gradients of classes", "gradients of numbers"]


def fit(make, X, y, **parameters):
    return make(**{"n_estimators": 30, "random_state": 0, **parameters}).fit(X, y)
