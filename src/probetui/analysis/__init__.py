"""What a journal and a manifest show, as values: histories, timing, findings."""
