"""YAML text to nodes with positions, as sigs.k8s.io/yaml reads it, and back."""
