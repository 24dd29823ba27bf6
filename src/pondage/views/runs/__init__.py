"""Views of Runs and of the work they wait for."""
