"""Records: what a session writes and a replay reads."""
