"""Benchmarks. Run them with ``make bench``, which writes ``bench/results.md``."""
