"""The databases: drivers, connections, transactions, clocks and migrations."""
