"""The search for parameters by the out-of-patch score."""
