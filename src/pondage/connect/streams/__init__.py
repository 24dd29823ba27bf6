"""Replayable sources of reactors: each event has an offset, and reading goes on behind any of them."""
