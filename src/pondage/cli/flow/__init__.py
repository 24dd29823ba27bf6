"""`pondage flow`."""
