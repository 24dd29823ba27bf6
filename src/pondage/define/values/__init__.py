"""Plain values of an author: names, places, durations, sizes, documents."""
