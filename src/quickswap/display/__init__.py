"""Systems and results as pages of text and tables, for the command line and for notebooks."""
