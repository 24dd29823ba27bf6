"""What data exists: snapshots, manifests, segments, and what is known of them."""
