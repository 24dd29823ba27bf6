"""The verbs of the section "Start", one file for each."""
