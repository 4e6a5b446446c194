# Two datacenters behind one name: the near one takes all traffic while it is healthy.
#
# Use it when a DNS name has the addresses of several sites, and traffic between sites is slow or
# costs money. Nothing is filtered out: when no near backend is healthy, the far ones serve, and
# when one is back, it takes over again. Without a probe every backend counts as healthy.
#
# Change: the networks in `near`, the health check, the port and the name. The same file serves in
# the other datacenter with the other networks.

vcl 4.1;

import dynamic;

backend default none;

# This datacenter's addresses.
acl near {
	"192.0.2.0"/24;
	"2001:db8:1::"/48;
}

# Addresses that are to be used only when no other is healthy. Leave it out if there are none.
acl last_resort {
	"203.0.113.0"/24;
}

probe up {
	.url = "/health";
	.interval = 2s;
	.timeout = 1s;
	.window = 5;
	.threshold = 3;
	# A new address may serve before its first probe; else a name's first requests get a 503.
	.initial = 3;
}

sub vcl_init {
	new origin = dynamic.director(port = "8080", probe = up, prefer = near, ttl = 10s,
	    retry_after = 5s);
	origin.prefer(last_resort, -1);
}

sub vcl_recv {
	set req.backend_hint = origin.backend("origin.example.com");
}

# A connection that fails before the probes know: try another backend, once. Requests with a body
# are left alone: it may have been sent already.
sub vcl_backend_error {
	if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
		return (retry);
	}
}
