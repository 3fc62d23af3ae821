"""Stands between clients and engines: taps, and what they see on the wire."""
