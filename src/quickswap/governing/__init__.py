"""A policy beside a real Slurm: it reads the jobs, decides, and raises the priority of some jobs.

The only lever is the SiteFactor of a pending job, a privileged addend of its priority. Slurm itself
starts the jobs.
"""
