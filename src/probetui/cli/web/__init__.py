"""`--web`: screens of sessions in a browser on this machine."""
