"""Causes and outlooks as sentences; every front end has its words from here."""
