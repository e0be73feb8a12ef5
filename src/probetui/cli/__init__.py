"""The command line: joins everything; nothing else does."""
