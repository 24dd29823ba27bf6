"""What the make targets run: set-up, locks, lint, tests and the bare-machine check."""
