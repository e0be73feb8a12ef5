"""One container: table cells, detail, exits, instances, logs."""
