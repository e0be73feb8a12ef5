"""Pods on a Docker engine, in sandboxes as the kubelet's dockershim made them."""
