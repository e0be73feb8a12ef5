"""The pod lifecycle event generator: relists, and the cache of runtime statuses."""
