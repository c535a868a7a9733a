"""The test score that a fit has reached by the time, ours and others'."""
