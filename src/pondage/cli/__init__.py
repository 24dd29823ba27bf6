"""The command line: one file for each group of verbs. Imports are lazy; no command of a client imports Spark."""
