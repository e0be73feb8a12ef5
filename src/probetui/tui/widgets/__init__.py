"""What the screens are made of: values in, messages out."""
