"""What a change of a query's tables does to its result: pure analysis of a plan, without Spark."""
