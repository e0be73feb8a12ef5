"""The commands: their declarations, and what those do that run no session.

Declarations are grouped by topic in `sessions`, `inspection`, `management` and
`program`. They need only click; what a command does is imported late.
"""
