"""The table of actions, and every way to run one: keys, the `:` line, the palette."""
