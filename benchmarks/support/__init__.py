"""What several benchmarks share. Nothing in here is a benchmark."""
