"""Gradient boosting beside that of others: the tables of docs/gradient.md."""
