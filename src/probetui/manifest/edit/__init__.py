"""Changes to manifests: --set, and probe numbers in the text of a file."""
