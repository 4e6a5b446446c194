# Two datacenters with names of their own, and a last resort: the near one serves while it has enough
# healthy backends, what it cannot carry goes to the far one, and what neither has to a third place.
#
# Use it where each datacenter has a name. (Where one name has the addresses of both, see prefer.vcl; for
# names one after the other without shares, see fallback.vcl.)
#
# Change: the names, the networks, the port, the weights and the health check. In the other datacenter
# the same file serves with the first two names in each other's place.

vcl 4.1;

import dynamic;

backend default none;

# The part of the near datacenter that is on newer, larger machines.
acl large {
	"192.0.2.128"/25;
	"2001:db8:1:8000::"/49;
}

probe up {
	.url = "/health";
	.interval = 2s;
	.timeout = 1s;
	.window = 5;
	.threshold = 3;
	# A new address may serve before its first probe; else the first requests get a 503.
	.initial = 3;
}

sub vcl_init {
	# With 1.4, a datacenter carries all of its traffic while 5/7 of its weight is healthy; below
	# that, a part of it goes to the next one.
	new d = dynamic.director(port = "8080", probe = up, ttl = 10s, retry_after = 5s,
	    overprovisioning = 1.4);
	new origin = dynamic.custom_service(d.use());
	# Large machines take three requests where the others take one.
	origin.add("east.origin.example.com", when = MATCH, acl = large, weight = 3);
	origin.add("east.origin.example.com", when = NOMATCH, acl = large);
	origin.add("west.origin.example.com", priority = 1);
	# A host with a port of its own.
	origin.add("sorry.example.net", port = "80", priority = 2);
}

sub vcl_recv {
	set req.backend_hint = origin.backend();
}

# A connection that fails before the probes know: try another backend, once. Requests with a body are
# left alone: it may have been sent already.
sub vcl_backend_error {
	if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
		return (retry);
	}
}
