"""What every process of the engine is made of: identity, settings, heartbeat, places."""
