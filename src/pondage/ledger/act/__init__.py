"""What people and projects do to the ledger, each in one transaction."""
