"""One step of a machine, made durable: signals in, rows out, in one transaction."""
