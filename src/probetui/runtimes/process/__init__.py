"""Pods as plain processes of this machine's user: no daemon, no images.

Probes, signals, grace periods, exit codes and restarts are real; nothing is isolated.

- As for process 1 of a container, a program that does not handle SIGTERM ignores it (on
  Linux, where /proc shows that): `sleep` runs until the end of its grace period.
- The address of a pod is in `POD_IP`, and its programs should listen on it. One that
  listens on all addresses takes the port of every pod.
- A container has no file system of its own: a volume mounted at `/data` is
  `$HOME/data`, and the termination message file is `$HOME/dev/termination-log`.
"""
