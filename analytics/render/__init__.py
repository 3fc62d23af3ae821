"""A computed month as text or JSON."""
