"""Cases of `probetui test`: actions on pods, and expectations."""
