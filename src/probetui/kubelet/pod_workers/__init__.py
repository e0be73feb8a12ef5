"""Pod workers: one per pod, from sync to terminated."""
