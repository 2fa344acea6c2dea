"""Networks that say how to choose: what they see, a forward pass in compiled code, their files, whole strategies of them."""
