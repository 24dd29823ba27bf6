"""The safe expression language as Columns."""
