"""What our defaults reach beside those of others, and how each was chosen: the tables of docs/defaults.md."""
