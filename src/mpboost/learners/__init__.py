"""Weak learners: native trees, gradient trees, and given scikit-learn estimators."""
