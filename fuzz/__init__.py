"""Searches for input that makes mpboost crash, hang, waste memory or raise a wrong error."""
