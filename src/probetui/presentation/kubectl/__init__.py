"""What kubectl prints: describe, YAML, columns, ages."""
