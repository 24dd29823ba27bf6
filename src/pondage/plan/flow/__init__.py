"""Planning flows: from a tree to the plan of a job."""
