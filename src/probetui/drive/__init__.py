"""Who waits: real time, simulation, replay."""
