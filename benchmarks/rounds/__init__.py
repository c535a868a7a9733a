"""What rounds of several minipatches cost in accuracy."""
