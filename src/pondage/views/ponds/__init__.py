"""Views of Ponds: how they are, why, and what their tables are made of."""
