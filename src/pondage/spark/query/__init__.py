"""Questions: SQL of strangers, differences, rows that break rules."""
