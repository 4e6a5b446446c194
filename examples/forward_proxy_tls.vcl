# A forward proxy to origins that speak TLS: the Host header says where a request goes, and a TLS
# onloader on this machine encrypts and checks the origin's certificate.
#
# Use it where origins want https. Connections go to the onloader and begin with a PROXY2 preamble, which
# says which address to connect to and which name (the authority) to ask for and to check. An onloader
# that can do so is haproxy:
#
#     listen onloader
#         mode tcp
#         bind unix@/run/onloader.sock accept-proxy
#         server origin 0.0.0.0:0 ssl verify required sni fc_pp_authority ca-file /etc/ssl/certs/ca-certificates.crt
#
# Change: the path of the onloader's socket, the networks in `reachable` (a narrow list, never 0.0.0.0/0)
# and the pattern of names.

vcl 4.1;

import dynamic;

backend default none;

backend onloader {
	.path = "/run/onloader.sock";
}

# Where requests may go. The addresses in the DNS answer are checked, whatever the name.
acl reachable {
	! "192.0.2.1";
	"192.0.2.0"/24;
	"2001:db8:2::"/48;
}

sub vcl_init {
	# Each host has leaves of its own, and connections of one host are never used for another. The
	# authority is the host.
	new origins = dynamic.director(port = "443", via = onloader, whitelist = reachable,
	    ttl = 60s, domain_usage_timeout = 10m, first_lookup_timeout = 3s,
	    max_connections = 200);
}

sub vcl_recv {
	# A port in the Host header would win over the director's, and an address is not a name: only
	# plain names of our tenants pass.
	if (req.http.Host !~ "^(?i)[a-z0-9-]+(\.[a-z0-9-]+)*\.tenants\.example\.com$") {
		return (synth(421));
	}
	# No host: that of the Host header.
	set req.backend_hint = origins.backend();
}
