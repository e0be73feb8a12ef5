"""Cases of `probetui test`: what is done to pods, and what is expected of them."""
