"""The scikit-learn estimators: validate, assemble, boost, publish."""
