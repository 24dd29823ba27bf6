"""Accumulators, graphs and reactors as an author declares them."""
