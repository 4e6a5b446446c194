# A sticky application behind a cache: clients with a session go to one backend, files are cached.
#
# Use it when backends keep state for a client (a shopping cart, an upload in parts) and
# much of the traffic is the same for all. The first response that a backend makes for a client
# carries a cookie; from then on the client's requests go to that backend. A response with the cookie
# never enters the cache, and cached ones never carry one.
#
# Change: the name and port of the application, what is cacheable, the cookie's name. Without TLS in
# front leave secure_policy out.

vcl 4.1;

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
	# When a client's backend is sick or gone, another one takes the client over and sends a new
	# cookie. Where only the old one can go on, failure_policy = RETURN_503.
	new sticky = dynamic.session("backend", same_site = LAX, secure_policy = SAME_AS_REQUEST);
	new app = dynamic.director(port = "8080", probe = up, ttl = 10s, session = sticky.use());
	# The same backends for what is cached: whoever fetches it, no session begins.
	new files = dynamic.director(port = "8080", probe = up, ttl = 10s);
}

sub vcl_recv {
	if (req.method == "GET" && req.url ~ "^/static/") {
		unset req.http.Cookie;
		set req.backend_hint = files.backend("app.example.com");
		return (hash);
	}
	set req.backend_hint = app.backend("app.example.com");
	# From the cache a client would get a page, but no session.
	return (pass);
}

sub vcl_backend_response {
	# Does nothing where the session was followed or not asked for.
	sticky.attach(https = bereq.http.X-Forwarded-Proto == "https");
}

# A backend that cannot be reached: another one, once. The session moves there.
sub vcl_backend_error {
	if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
		return (retry);
	}
}
