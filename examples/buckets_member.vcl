# A group of Varnish servers that route among themselves: each keeps its own share of the cache.
#
# Use it when one server's memory is too small for all objects. Any server may be asked: it
# serves what is its own share by the URL, and fetches the rest from the owner without keeping it. So
# each object is in one cache only, and reaches its origin through one server only.
#
# While an owner is down, another member of the group fetches and keeps its objects; when the owner
# is back, they go home.
#
# Change: the addresses of the group, which are the same in all servers' files, and the
# server's own, marked `me`, the only one that differs; the assignment, by the servers' sizes; the
# origin. The members must see each other under these addresses, and the same Host header.

vcl 4.1;

import dynamic;

backend default none;

# Requests from the group are not sent on again: with different views of who is healthy, they
# would go in circles.
acl group {
	"192.0.2.1";
	"192.0.2.2";
	"192.0.2.3";
}

probe alive {
	.url = "/varnish-alive";
	.interval = 1s;
	.timeout = 1s;
	.window = 3;
	.threshold = 2;
	.initial = 2;
}

sub vcl_init {
	new share = dynamic.buckets();
	share.assign("192.0.2.1", "0-85");
	share.assign("192.0.2.2", "86-170");
	share.assign("192.0.2.3", "171-255");

	new d = dynamic.director(port = "80", probe = alive, buckets = share.use());
	new peers = dynamic.custom_service(d.use());
	peers.add("192.0.2.1");
	peers.add("192.0.2.2");
	peers.add("192.0.2.3");

	new origin = dynamic.director(port = "8080", ttl = 10s);
}

sub vcl_recv {
	if (req.url == "/varnish-alive") {
		return (synth(200));
	}
	set req.backend_hint = origin.backend("origin.example.com");
}

sub vcl_miss {
	# What the cache looks objects up by is the key too: RFC 3074 takes 16 bytes, of which a URL's
	# would be the same for a whole site.
	set req.http.X-Object = req.hash;
	if (client.ip !~ group && !share.serves("192.0.2.1" /* me */, req.http.X-Object)) {
		# Another's: fetched from there, and kept there.
		set req.backend_hint = peers.backend(key = req.http.X-Object);
		return (pass);
	}
}

sub vcl_backend_fetch {
	unset bereq.http.X-Object;
}
