"""The API server's validation and warnings, and our own."""
