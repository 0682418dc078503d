"""The paper's figures as data, further figures, and the findings on the paper's claims."""
