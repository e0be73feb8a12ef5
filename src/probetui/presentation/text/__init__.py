"""Text for terminals: spans, times, cells, filters."""
