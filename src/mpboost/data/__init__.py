"""Reads and checks what users pass: tables, categories, labels and weights; and makes binned columns of tables."""
