"""Conformance: scenario files, the hosts that play them, and what is compared."""
