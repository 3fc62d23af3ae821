"""One file per wire format that carries usage."""
