"""What-if: a recorded session run again with other settings."""
