"""Pods as plain processes of this machine's user: no daemon, no images.

Probes, signals, grace periods, exit codes and restarts are real; nothing is isolated.
A program that does not handle SIGTERM is not ended by it, as if it were the first one
in a container (on Linux, where that can be seen): `sleep` uses up its grace period.
A pod's programs find its address in `POD_IP`, and should listen there: what listens
on all addresses takes the port of every pod.
It has no file system of its own either: what Kubernetes mounts at `/data` it finds in
`$HOME/data`, and may leave its last words in `$HOME/dev/termination-log`.
"""
