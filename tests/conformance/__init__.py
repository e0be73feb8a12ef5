"""Kubernetes' own end-to-end tests for probes and restarts, as data, run by probetui.

`cases` reads them, `observe` runs them with the installed command and writes
observations, `evaluator` judges those. `data` has the cases and the observations of a
real kubelet.
"""
