"""What inference can be trusted for: simulations of tests of features, with known answers, and what they cost."""
