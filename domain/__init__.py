"""What travels between the layers: values only, no I/O and no framework."""
