"""The read model: what the command line prints with `--json`, the API answers and the page shows is one object.

Every view is a frozen value made inside one reading transaction. Times are integer microseconds UTC, as in the ledger;
a freshness that was never reached is null. No Spark, no author's code, no scan that grows with history.
"""
