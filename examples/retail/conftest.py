"""Lets `pytest` find the fixtures of Pondage: `spark`, `table`, `run_ripple`."""

pytest_plugins = ["pondage.testing"]
