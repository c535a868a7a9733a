"""What all benchmarks share: options of commands, clocks, tables, files of results, progress bars, pictures."""
