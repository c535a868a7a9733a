"""Search for parameters by the out-of-patch score."""
