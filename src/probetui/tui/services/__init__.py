"""What the app does with the terminal and the machine: clipboard, shell, files."""
