"""What a kubelet says of its node."""
