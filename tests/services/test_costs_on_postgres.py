"""The costs on PostgreSQL: the very tests that SQLite passes, with rows counted by EXPLAIN ANALYZE."""

from tests.ledger.test_costs import *  # noqa: F403
