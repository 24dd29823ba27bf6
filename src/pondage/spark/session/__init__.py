"""Sessions: one driver, classic or Connect, used by many threads."""
