"""One file per thing that is read."""
