"""Files that land in a folder: each is taken by exactly one batch, whatever fails, and by none again."""
