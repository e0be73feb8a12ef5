"""Playback sessions: simulations with seeking, and replays."""
