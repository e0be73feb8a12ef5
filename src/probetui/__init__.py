"""Run pods without a cluster and watch their probes as the kubelet sees them."""

__version__ = "0.1.0"
