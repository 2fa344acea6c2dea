"""Open games of simultaneous moves, exactly: matrix games stacked on one another."""
