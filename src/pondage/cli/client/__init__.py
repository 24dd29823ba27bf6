"""The client of a ledger or a server: what a call says, what it opens, whom it asks."""
