"""The experiments of the papers, run again: each writes a page with tables, pictures and what became of the paper's claims."""
