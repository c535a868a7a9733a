"""What users pass, read in one way: tables, categories, labels and weights, and their binned columns."""
