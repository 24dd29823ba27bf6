"""What verbs ask: each function does it on the ledger, and names the route where a server does the same."""
