"""The outside world: secrets, table formats for other readers, and the sources that authors read from."""
