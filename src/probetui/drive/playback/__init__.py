"""Sessions whose time can be moved: simulation with seeking, replay."""
