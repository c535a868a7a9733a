"""Outputs of learners for each row, and what they add up to: votes, probabilities, difficulty."""
