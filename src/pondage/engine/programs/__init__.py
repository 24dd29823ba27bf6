"""External programs: served over a socket or a broker, started and watched by a worker."""
