"""Tests of sessions: planned, run, recorded and ended."""
