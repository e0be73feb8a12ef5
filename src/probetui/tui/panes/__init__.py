"""The widgets that screens are made of: values in, messages out."""
