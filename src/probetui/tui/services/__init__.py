"""Services of the app: clipboard, shell, files, and the terminal."""
