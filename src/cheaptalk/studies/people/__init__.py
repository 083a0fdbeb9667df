"""Human studies: the protocol, the participants' path and their pay."""
