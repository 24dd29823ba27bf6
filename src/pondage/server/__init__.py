"""The HTTP server: one route table, a guard before it, the read model behind it. No Spark, no author's code."""
