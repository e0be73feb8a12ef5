"""One handler per module; they know sockets, not pods."""
