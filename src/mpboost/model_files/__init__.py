"""Model files: save a fitted model, and load it, without pickle."""
