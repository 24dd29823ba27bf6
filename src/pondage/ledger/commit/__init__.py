"""The two transactions of whoever works: the claim with its task, and the guarded commit."""
