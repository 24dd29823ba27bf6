"""Benchmarks: `make bench NAME=x` measures Pondage against what it says it should cost."""
