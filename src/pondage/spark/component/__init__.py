"""Running components: alone, fused, or segment by segment."""
