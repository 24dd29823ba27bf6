"""The data plane: one JVM for a worker process, snapshots as parquet files, and what is checked of them."""
