"""Pods as plain processes of this machine's user: no daemon, no images.

Probes, signals, grace periods, exit codes and restarts are real; nothing is isolated.
A pod's programs find its address in `POD_IP`, and should listen there: what listens
on all addresses takes the port of every pod.
"""
