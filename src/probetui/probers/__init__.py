"""Probe handlers and lifecycle hooks, one handler per module."""
