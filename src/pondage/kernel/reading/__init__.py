"""Reading: what a trigger has learned of those who read its Pond, and whom it may expect."""
