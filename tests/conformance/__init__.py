"""Kubernetes' own end-to-end tests for probes and restarts, as data, run by probetui.

`cases` reads them, `observe` runs them through the installed command and writes what
was seen, `evaluator` judges that. `data` has the cases and what a real kubelet did.
"""
