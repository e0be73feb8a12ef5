"""The volume manager, and volume files from ConfigMaps, Secrets and fields."""
