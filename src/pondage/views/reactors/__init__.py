"""Views of reactors."""
