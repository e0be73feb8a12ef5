"""One session: planned, run live or on virtual time, shown, recorded and ended."""
