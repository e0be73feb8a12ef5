"""A session without a cluster as the objects of an API server."""
