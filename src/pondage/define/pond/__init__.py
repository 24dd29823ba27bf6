"""Ponds, Ripples, Sources, Windows and expectations, and the definitions they become."""
