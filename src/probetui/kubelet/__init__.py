"""The kubelet's decisions: no I/O, no clock, no threads, no async."""
