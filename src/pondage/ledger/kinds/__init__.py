"""The kinds of work: a file for each, with its task, how a claim loads it, how it ends, and who is told."""
