"""The verbs of the section "Ask for data", one file for each."""
