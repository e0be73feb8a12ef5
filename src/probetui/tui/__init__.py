"""The screen: shows snapshots, sends commands."""
