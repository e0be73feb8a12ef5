"""Containers that exist already, shown to the engine as the containers of pods."""
