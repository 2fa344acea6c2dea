"""Tables, pictures and logs for people."""
