"""The image manager: pulls, and image garbage collection."""
