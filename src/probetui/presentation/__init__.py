"""Snapshots and journal entries as text and cells; no I/O."""
