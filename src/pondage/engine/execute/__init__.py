"""The executors: from a claimed task to what its commit needs."""
