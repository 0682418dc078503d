"""What people write down: servers and classes of jobs, in Python or in a file."""
