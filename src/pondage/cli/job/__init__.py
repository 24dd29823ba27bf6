"""`pondage job`."""
