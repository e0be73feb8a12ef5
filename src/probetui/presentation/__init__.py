"""Snapshots and journal entries as words and cells; pure."""
