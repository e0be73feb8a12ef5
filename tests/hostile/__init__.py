"""Attacks by untrusted input, which must not affect anything of others."""
