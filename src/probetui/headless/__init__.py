"""Lines or JSON on standard output, and the exit status."""
