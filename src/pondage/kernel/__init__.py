"""The pure machines: no I/O, no clock, no randomness. A host gives them time and carries out what they decide."""
