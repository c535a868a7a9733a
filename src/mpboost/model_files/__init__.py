"""Save and load fitted models in files, without pickle."""
