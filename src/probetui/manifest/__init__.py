"""Pod YAML to pods, or an error that says line and path."""
