"""Pods on a CRI runtime: containerd, CRI-O and others, over gRPC."""

import os

# Read when grpcio is imported: what it writes to standard error ends up on the screen.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
