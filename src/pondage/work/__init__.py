"""Values that the ledger hands to workers and gets back: they know neither SQL nor Spark."""
