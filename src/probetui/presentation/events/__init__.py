"""The event log, and the events as a cluster lists them."""
