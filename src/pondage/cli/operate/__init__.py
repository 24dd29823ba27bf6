"""The verbs of the section "Operate", one file for each."""
