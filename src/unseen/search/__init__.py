"""Online search: decide well in a game that is being played, from what one player has seen of it."""
