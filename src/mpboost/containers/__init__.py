"""Files of a checked header and arrays, which models and datasets are kept in."""
