# Two names, one after the other: the second one serves while nothing behind the first is healthy.
#
# Use it when the origins have names of their own, such as a primary and a disaster-recovery site.
# (Where one name has the addresses of both, see prefer.vcl.) The director of a name is a backend
# like any other for the directors of other modules: it is healthy while one of its addresses is.
#
# Change: the names, the port and the health check.

vcl 4.1;

import directors;
import dynamic;

backend default none;

probe up {
	.url = "/health";
	.interval = 2s;
	.timeout = 1s;
	.threshold = 3;
	# A new address may serve before its first probe; else a name's first requests get a 503.
	.initial = 3;
}

sub vcl_init {
	new origin = dynamic.director(port = "8080", probe = up, ttl = 10s);
	# Names used in vcl_init are resolved before there is any traffic, and stay.
	new sites = directors.fallback();
	sites.add_backend(origin.backend("primary.example.com"));
	sites.add_backend(origin.backend("recovery.example.com"));
}

sub vcl_recv {
	set req.backend_hint = sites.backend();
}
