"""Games looked at as if nothing were hidden: minimax over states, and agents that average it over the worlds they believe in."""
