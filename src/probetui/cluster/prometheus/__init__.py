"""A Prometheus, or what answers as one, and what it has kept of a cluster's probes."""
