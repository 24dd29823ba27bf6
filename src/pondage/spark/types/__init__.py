"""Types of the port grammar as Spark has them."""
