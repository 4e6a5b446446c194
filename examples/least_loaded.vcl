# Slow and fast backends behind one name: each gets as much as it can take.
#
# Use it when backends differ, or when one that has a bad day must not slow down all: the one with
# the fewest requests under way is next, so that a slow one gets less without being declared sick.
# One that comes back starts with a tenth of its traffic, and has all of it after slow_start: its
# caches are cold. Only the requests of this server count.
#
# Change: the name, the port and the health check. With an SRV service in place of the name, the
# requests under way are counted per weight.

vcl 4.1;

import dynamic;

backend default none;

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
	new api = dynamic.director(port = "8080", probe = up, ttl = 10s, retry_after = 5s,
	    algorithm = LEAST, slow_start = 60s);
}

sub vcl_recv {
	set req.backend_hint = api.backend("api.example.com");
}

# A connection that fails before the probes know: try another backend, once. Requests with a body
# are left alone: it may have been sent already.
sub vcl_backend_error {
	if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
		return (retry);
	}
}
