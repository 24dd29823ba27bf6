"""Planning jobs: from a definition and its joblets to a checked plan."""
