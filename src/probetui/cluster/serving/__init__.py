"""HTTP and WebSocket on the server's side, for the API server and for a node."""
