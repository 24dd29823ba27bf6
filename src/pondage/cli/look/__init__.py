"""The verbs of the section "Look", one file for each."""
