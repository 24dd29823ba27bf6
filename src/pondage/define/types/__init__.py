"""Port types: their grammar, how they meet, and values held against them."""
