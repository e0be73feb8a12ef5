"""A Kubernetes API server: its objects in memory, its HTTP."""
