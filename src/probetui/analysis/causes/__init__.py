"""Causes: why a container is as it is, as a chain of values without text."""
