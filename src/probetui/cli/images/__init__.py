"""Images that probetui pulled: recorded, listed and collected."""
