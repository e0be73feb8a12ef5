"""Run pods without a cluster and watch their probes as the kubelet sees them."""

__version__ = "0.1.0"

DOCUMENTATION = "https://probetui.dev/"
"""Where the pages of `docs/` are published, as [project.urls] says too."""
