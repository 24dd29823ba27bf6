"""Families of rows, each behind a handful of functions."""
