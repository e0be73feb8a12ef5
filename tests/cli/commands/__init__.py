"""Tests of the commands that run no session."""
