"""The object model: frozen values with Kubernetes' names."""
