"""Streams of commands and ports, as streaming servers and kubectl speak them."""
