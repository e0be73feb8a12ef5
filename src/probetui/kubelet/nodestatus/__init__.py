"""Node status: a kubelet's report about its node."""
