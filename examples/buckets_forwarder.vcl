# Two pairs of primary and backup behind one forwarder, with clients divided by hash buckets.
#
# Use it when each client belongs to one of several groups of servers that share nothing, and each
# group has a backup. A client's key tells its bucket (RFC 3074), a bucket its owners: any number of
# forwarders with the same assignment agree, whatever they are told by DNS or see of health.
#
# Buckets 0 to 127 belong to the first pair, 128 to 255 to the second. The priority makes the primary
# serve while it is healthy. While both of a pair are down, its clients get a 503 until they
# have waited 5 seconds; from then on the other pair serves them.
#
# Change: the names, the port, the shares (3 of 4 clients to the first pair: "75%" and "25%"), and
# what a client's key is. Only its first 16 octets count, so a key should not begin like all others:
# leave out a common prefix, such as "Bearer ". A key should not be of the client's free choice
# where that would let it choose its server.

vcl 4.1;

import dynamic;

backend default none;

probe up {
	.url = "/health";
	.interval = 1s;
	.timeout = 1s;
	.window = 3;
	.threshold = 2;
	# A new address may serve before its first probe; else a name's first requests get a 503.
	.initial = 2;
}

sub vcl_init {
	# Clients send a new id with each request, if any: their waiting time is tracked by the key.
	new halves = dynamic.buckets(service_delay = 5s, track_keys = true);
	halves.assign("one.example.com", "0-127");
	halves.assign("one-backup.example.com", "0-127");
	halves.assign("two.example.com", "128-255");
	halves.assign("two-backup.example.com", "128-255");

	new d = dynamic.director(port = "8080", probe = up, ttl = 10s, buckets = halves.use());
	new pairs = dynamic.custom_service(d.use());
	pairs.add("one.example.com", priority = 0);
	pairs.add("two.example.com", priority = 0);
	pairs.add("one-backup.example.com", priority = 1);
	pairs.add("two-backup.example.com", priority = 1);
}

sub vcl_recv {
	# The random id that the application gives a browser, else that of an API's client.
	unset req.http.X-Client;
	if (req.http.Cookie ~ "(^|; *)uid=") {
		set req.http.X-Client = regsub(req.http.Cookie, "^(.*; *)?uid=([^;]*).*$", "\2");
	} else if (req.http.Authorization ~ "^Bearer .") {
		# The end of a token is its signature.
		set req.http.X-Client = regsub(req.http.Authorization, "^.*(.{16})$", "\1");
	}
	set req.backend_hint = pairs.backend(key = req.http.X-Client);
	return (pass);
}

sub vcl_backend_fetch {
	unset bereq.http.X-Client;
}
