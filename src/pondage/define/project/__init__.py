"""What the project file says of alerts and of patience."""
