# A service of Consul, found by SRV records: addresses, ports and weights come from its catalogue.
#
# Use it where instances listen on ports of their own, which addresses alone do not tell. Consul answers
# with the instances that pass its checks, and with their weights. (Without SRV, see resolver.vcl.)
#
# Change: the agents' addresses, the name of the service, the health check.

vcl 4.1;

import dynamic;

backend default none;

# Notices an instance that dies before Consul does.
probe up {
	.url = "/health";
	.interval = 2s;
	.timeout = 1s;
	.threshold = 3;
	# A new instance may serve before its first probe.
	.initial = 3;
}

sub vcl_init {
	new consul = dynamic.resolver();
	# The agent on this machine, and a server for when it is restarted.
	consul.add_nameserver("127.0.0.1:8600");
	consul.add_nameserver("192.0.2.53:8600");
	consul.set_timeout(1s);

	# Consul's TTL is 0s unless it is configured: that counts as 1s.
	new services = dynamic.director(resolver = consul.use(), probe = up, ttl_from = dns,
	    ttl = 5s, retry_after = 1s, keep = 10);
}

sub vcl_recv {
	# RFC 2782 form: _service._tag.service.consul. The dot keeps the search list away.
	set req.backend_hint = services.service("_web._tcp.service.consul.");
}

# An instance that ended since the last answer: try another one, once. Requests with a body are left
# alone: it may have been sent already.
sub vcl_backend_error {
	if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
		return (retry);
	}
}
