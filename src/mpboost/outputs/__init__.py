"""What learners put out for a row, and what it adds up to: votes, probabilities, difficulty."""
