"""The status manager, and the pod status generated for it: phase and conditions."""
