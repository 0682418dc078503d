"""The model: servers and classes of jobs, written in Python or in a file."""
