"""From definitions to a checked plan: what a deploy would change, and whether it may."""
