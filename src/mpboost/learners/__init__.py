"""Weak learners: native trees, gradient trees, and scikit-learn estimators of the user."""
