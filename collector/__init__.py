"""Reads the rig and keeps its events: the contract, the store, the HTTP door, the sources."""
