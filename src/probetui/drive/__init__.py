"""Drivers of the engine: real time, simulation, replay."""
