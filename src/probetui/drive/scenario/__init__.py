"""Scenarios: the scripted world that a simulation runs in."""
