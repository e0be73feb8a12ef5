"""Runs of a real kubelet, and the same pods run by probetui beside them.

`trace` reads them, `virtual` and `live` run the pods, `compare` says what is not the
same. `data` has the traces.
"""
