"""Adapters behind `ports.Runtime`."""
