"""Processes: the supervisor of a machine, its workers, and the small services that keep the ledger moving."""
