# Each user's requests go to the same instance, within a bound on its load.
#
# Use it when instances keep something of their users in memory: a warm cache, open documents, a
# game. A header decides the instance; any number of these servers agree on it without knowing of
# each other. When an instance is sick, its users alone move, each to another one, and they come
# back with it. Requests without the header are balanced. It is affinity, not a promise: for
# clients that must come back to where they were, use a session.
#
# hash_balance bounds the load: an instance takes at most 1.25 times its share of the requests that
# this server has under way, and what is more goes to the next instance of that user. Lower values
# spread better, higher ones keep more users at home. 0.0 is no bound: one user with very much
# traffic can then overload an instance. It counts the requests of this server alone.
#
# Change: the name, the port, the health check, the header that says who the user is, and the
# networks that may pin.

vcl 4.1;

import dynamic;

backend default none;

# Who may say which instance serves.
acl debuggers {
	"192.0.2.0"/28;
	"2001:db8:ffff::"/48;
}

probe up {
	.url = "/health";
	.interval = 2s;
	.timeout = 1s;
	.window = 5;
	.threshold = 3;
	# A new instance may serve before its first probe; else a name's first requests get a 503.
	.initial = 3;
}

sub vcl_init {
	# Without a key the least loaded one serves, and one that has just come gets little at first.
	new app = dynamic.director(port = "8080", probe = up, ttl = 10s, retry_after = 5s,
	    hash_header = "x-user", hash_balance = 1.25, algorithm = LEAST, slow_start = 30s);
}

sub vcl_recv {
	# What is not to be trusted from outside.
	if (client.ip !~ debuggers) {
		unset req.http.x-instance;
	}
	set req.backend_hint = app.backend("app.example.com");
	if (req.http.x-user) {
		return (pass);
	}
}

sub vcl_backend_fetch {
	# The address, address:port or host name of one instance, healthy or not: it wins over the key.
	if (bereq.http.x-instance) {
		set bereq.backend = app.backend("app.example.com", pin = bereq.http.x-instance);
	}
}

# A connection that fails before the probes know: the user's next instance, up to two times.
# Requests with a body are left alone: it may have been sent already.
sub vcl_backend_error {
	if (bereq.retries < 2 && (bereq.method == "GET" || bereq.method == "HEAD")) {
		return (retry);
	}
}
