"""A made-up rig: its settings, its days and the feeder that sends them to a real collector."""
