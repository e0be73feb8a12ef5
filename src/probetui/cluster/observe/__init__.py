"""Observation of the probes of a cluster: what is known, and from where.

Pure: inputs are lines of watches and polls of counters with their instants, outputs
are journal entries and snapshots. Who fetches them is `feed`.
"""
