"""What a recorded session would have been under other settings."""
