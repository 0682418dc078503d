"""One module for each format that is read: SWF, accounting records of Slurm, tables."""
