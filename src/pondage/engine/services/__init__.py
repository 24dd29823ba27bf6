"""Maintenance, one service in a module; and the doctor."""
