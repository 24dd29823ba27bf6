"""Agreement: do the inputs of a Run stand on the same Runs of what they have in common?"""
