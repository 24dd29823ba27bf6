"""What keeps a ledger well: reaping, leases, retention, replay."""
