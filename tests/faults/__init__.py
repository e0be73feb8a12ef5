"""Whole sessions on virtual time, with faults at every call, by seed.

    python -m tests.faults --seeds 1000          # as many worlds, a minute or so
    python -m tests.faults --seeds 1000 --report # with states, transitions and causes
    # A night, in worlds in which hours pass; its last line says where to go on.
    python -m tests.faults --first 100000 --minutes 480 --report --out report.txt
    python -m tests.faults --seed 42             # one of them, with its story
    python -m tests.faults --seed 42 --shrink    # the fewest faults that break it
    python -m tests.faults --seed 42 --node      # the node of that seed
    python -m tests.faults --seed 42 --watch     # the watched cluster of that seed

The session, its executor, its engine and its recorder are the program's own; the
runtime, the prober, the hooks and the disk around them fail as real ones do. A world is
a function of its seed. In some the engine's wall clock is set and the machine is
suspended. Beside some of them two homes share an engine, with the ledgers and leases of
several sessions each, and sessions of one machine lease its pods; beside others there
is a node with its API server, or such a node with `watch` before it.
"""
