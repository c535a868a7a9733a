"""Measures training and prediction on a cluster."""
