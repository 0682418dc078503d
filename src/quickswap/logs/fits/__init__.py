"""Fits a system to a log, and compares the two."""
