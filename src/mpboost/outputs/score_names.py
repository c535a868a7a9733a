"""Names of the scores that estimators have by default."""

#: The score of an estimator without ``scoring``, as ``score`` computes it.
DEFAULT_OF_CLASSES, DEFAULT_OF_NUMBERS = "accuracy", "r2"


def word_score(name: str) -> str:
    """Write the name of a score for people.

    Examples
    --------
    >>> word_score("r2"), word_score("balanced_accuracy")
    ('R²', 'balanced accuracy')
    """
    return "R²" if name == DEFAULT_OF_NUMBERS else name.replace("_", " ")
