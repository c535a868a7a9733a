"""Draws minipatches from the two learned distributions: p over observations and q over features."""
