# IPv6 first: a name's IPv6 addresses take all traffic while one is healthy, else the IPv4 ones do.
#
# Use it with dual-stack origins. For IPv4 first, put "0.0.0.0"/0 in the ACL instead. A probe tells
# where a network is broken though the address is there; without one, IPv6 is always used.
#
# Change: the health check, the port and the name.

vcl 4.1;

import dynamic;

backend default none;

acl ipv6 {
	"::"/0;
}

probe up {
	.url = "/health";
	.interval = 2s;
	.timeout = 1s;
	.threshold = 3;
	# A new address may serve before its first probe; else a name's first requests get a 503.
	.initial = 3;
}

sub vcl_init {
	new origin = dynamic.director(port = "80", probe = up, prefer = ipv6,
	    # Probes send this Host; else they would send the address.
	    host_header = "www.example.com",
	    # A broken network is to cost little before the probes know.
	    connect_timeout = 1s);
}

sub vcl_recv {
	set req.backend_hint = origin.backend("www.example.com");
}
