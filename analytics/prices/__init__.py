"""API price sheets: what a request would have cost elsewhere, at the instant it came in."""
