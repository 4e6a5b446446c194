# Backends that are drained before they are taken away: they keep their sessions and get no new ones.
#
# Use it for deployments without lost sessions. Set the weight of a target to 0, in its SRV record or
# here in VCL; clients that have its key go on there, new ones go to the others. When its traffic has
# ended, remove it: who comes back later is given another backend.
#
#     _http._tcp.app.example.com. 30 SRV 0 10 8080 blue.example.com.
#     _http._tcp.app.example.com. 30 SRV 0  0 8080 green.example.com.    ; drains
#
# How much a backend still does is seen in its counters: varnishstat -1 -f 'VBE.*.app(*).req'.
#
# Change: the service. Without SRV records use the custom service below, and reload the VCL to drain.

vcl 4.1;

import dynamic;

backend default none;

sub vcl_init {
	new sticky = dynamic.session("sid", max_age = 1h);
	new app = dynamic.director(session = sticky.use(), ttl_from = dns, ttl = 30s);

	# new targets = dynamic.custom_service(app.use());
	# targets.add("blue.example.com", port = "8080", weight = 10);
	# targets.add("green.example.com", port = "8080", weight = 0);
}

sub vcl_recv {
	set req.backend_hint = app.service("_http._tcp.app.example.com");
	# set req.backend_hint = targets.backend();
	return (pass);
}

sub vcl_backend_response {
	sticky.attach();
}
