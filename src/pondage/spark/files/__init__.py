"""Files of snapshots and streams: written once, read exactly."""
