"""Simulate one policy on a system, or compare several."""
