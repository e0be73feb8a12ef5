"""A pod of a cluster as containers to attach to: commands, ports, and its end."""
