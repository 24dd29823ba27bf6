"""What nobody may take from the others: connections, threads, and the bytes of bodies."""
