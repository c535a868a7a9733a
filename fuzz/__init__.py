"""Searches for input that makes mpboost crash, hang, waste memory or raise what it should not."""
