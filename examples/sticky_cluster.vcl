# Several Varnish servers that follow each other's sessions, with sealed keys that clients cannot read.
#
# Use it when a load balancer spreads clients over several Varnish servers, and nothing about the
# backends may be seen from outside. Each server opens what any other sealed; they need not know of
# each other, nor get the addresses from DNS in the same order.
#
# Make the keys on one machine, and copy the file to all, readable by Varnish alone:
#
#     openssl rand -hex 32 >/etc/varnish/session.keys
#
# To change the key, put a new line first, everywhere, and load the VCL again; take the old line away
# when the sessions that it sealed have ended. Between the servers' reloads a key that is not known
# yet makes a new session: where that matters, add the new line last on all, then move it first.
#
# Change: the name and port of the application, the cookie and its lifetime.

vcl 4.1;

import dynamic;

backend default none;

sub vcl_init {
	new sticky = dynamic.session("sid", policy = COOKIE, max_age = 12h, same_site = LAX,
	    secure_policy = ALWAYS, key_file = "/etc/varnish/session.keys");
	new app = dynamic.director(port = "8080", ttl = 10s, session = sticky.use());
}

sub vcl_recv {
	set req.backend_hint = app.backend("app.example.com");
	return (pass);
}

sub vcl_backend_response {
	sticky.attach(https = true);
}
