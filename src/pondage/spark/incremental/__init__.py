"""Keeping results up to date on Spark: the same plan over other rows of its tables."""
