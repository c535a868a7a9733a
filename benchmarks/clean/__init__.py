"""The one run that README and docs/benchmarks.md quote: ours beside others, on all sets, one thread, in turns."""
