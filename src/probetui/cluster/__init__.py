"""A Kubernetes cluster: its API server and pods, from outside or as a node of it."""
