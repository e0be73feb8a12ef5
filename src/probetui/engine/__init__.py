"""The engine: inputs in, effects and journal entries out, snapshots to see."""
