"""Views of an installation: environments, audit, secrets, health, the feed."""
