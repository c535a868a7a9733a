"""Two revisions of mpboost side by side: whether models are the same, and whether anything became slower or worse.

Modules that run with an old revision (``worker``, ``fingerprints``) use public names of mpboost alone, and nothing of
``benchmarks.common`` or ``benchmarks.contestants``, which use this revision's.
"""
