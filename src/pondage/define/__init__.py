"""What an author declares."""
