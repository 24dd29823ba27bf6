"""One try of a piece of work, and what it may ask for while it lasts."""
