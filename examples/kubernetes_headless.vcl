# The pods of a Kubernetes headless service, found by DNS and balanced without a service address.
#
# Use it inside a cluster, with a service that has `clusterIP: None`: its name has one address for
# each ready pod. Pods that come and go are seen when the answer's TTL is over (CoreDNS: 5 to 30
# seconds, the `ttl` of its kubernetes plugin). When DNS fails, the pods known last serve on.
#
# Change: the name (service.namespace.svc.cluster.local) and the pods' port, not the service's;
# the health check.

vcl 4.1;

import dynamic;

backend default none;

# Notices a pod that dies before DNS does.
probe ready {
	.url = "/ready";
	.interval = 1s;
	.timeout = 1s;
	.window = 3;
	.threshold = 2;
	# A new address may serve before its first probe; else a name's first requests get a 503.
	.initial = 2;
}

sub vcl_init {
	# ttl is for answers without a TTL. A pod's address may soon be another pod's, so what
	# left the answer is forgotten at once: keep = 0.
	new shop = dynamic.director(port = "8080", probe = ready, ttl_from = dns, ttl = 5s,
	    retry_after = 1s, keep = 0, connect_timeout = 0.5s);
}

sub vcl_recv {
	# The dot at the end keeps the pod's search list away: one query instead of several.
	set req.backend_hint = shop.backend("shop.default.svc.cluster.local.");
}

# A pod that ended since the last answer: try another one, once.
sub vcl_backend_error {
	if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
		return (retry);
	}
}
