"""This session as a node of a cluster: a kubelet's conversation with its API server."""
