"""The screens: each shows a snapshot and turns keys into commands."""
