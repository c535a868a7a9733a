"""Exported models beside predict: whether they agree on a million rows, and how fast they are."""
