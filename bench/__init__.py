"""Benchmarks: `make bench`, or `python -m bench` for those who have everything installed.

Each measures its peers side by side in the same run, warm, and tells medians of several rounds.
"""
