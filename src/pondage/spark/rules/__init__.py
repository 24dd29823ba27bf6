"""Expectations: answered by footers, in the same pass, or late."""
