# Name servers of its own for a director, such as those of Consul or of a private zone.
#
# Use it when the system's name servers (/etc/resolv.conf) do not know the names, or are not to be
# asked for them. Directors without `resolver` go on with the system's.
#
# Change: the servers (an IPv6 address with a port is in brackets), the time-out, the search list,
# the name.

vcl 4.1;

import dynamic;

backend default none;

sub vcl_init {
	new consul = dynamic.resolver();
	# Asked in this order: the second one when the first one does not answer.
	consul.add_nameserver("192.0.2.53:8600");
	consul.add_nameserver("[2001:db8::53]:8600");
	consul.set_timeout(1s);
	consul.add_search("service.consul");
	# Only DNS, no hosts file.
	consul.clear_namespaces();
	consul.add_namespace(DNS);
	consul.set_namespaces();

	new services = dynamic.director(port = "8080", resolver = consul.use(), ttl_from = min,
	    ttl = 10s, retry_after = 2s);
}

sub vcl_recv {
	# Found as web.service.consul.
	set req.backend_hint = services.backend("web");
}
