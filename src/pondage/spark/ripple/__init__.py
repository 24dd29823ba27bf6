"""Running Ripples: from inputs to a snapshot that nobody sees yet."""
