"""One probe: state, detail, output, settings explained."""
