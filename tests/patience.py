"""How long tests wait for what will come true."""

PATIENCE_S = 300.0
"""On a machine that does many other things, too; only what never comes true takes it."""
