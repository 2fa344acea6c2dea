"""Who could be where, given what one viewer has seen."""
