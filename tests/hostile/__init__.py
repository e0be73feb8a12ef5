"""Attacks: what is not ours to trust does its worst, and nothing of others is hurt."""
