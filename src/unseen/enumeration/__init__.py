"""Walking every history of a game: the tree of what players saw, information sets, reductions."""
