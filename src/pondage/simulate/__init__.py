"""The virtual-time host: the real demand machine, with a clock that jumps and workers that only take time."""
