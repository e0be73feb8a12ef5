"""The API codec: objects of the model as the JSON of the Kubernetes API, and back."""
