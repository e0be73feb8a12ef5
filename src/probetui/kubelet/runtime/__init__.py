"""Stand-ins for Go: routines for blocking calls, timers, an LRU cache, formats."""
