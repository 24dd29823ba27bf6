"""Supervisors: which processes a machine has, and for how long."""
