"""Container runtimes, behind `ports.Runtime`: Docker, CRI, plain processes."""
