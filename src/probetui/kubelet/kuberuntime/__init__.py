"""The runtime manager: sandboxes, containers, killing, back-off, garbage collection."""
