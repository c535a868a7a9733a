"""What benchmarks learn from: real data sets in a folder or from OpenML, and generated tables."""
