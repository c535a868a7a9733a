"""Measures datasets on disk: building them, and training on them, beside memory and beside others."""
