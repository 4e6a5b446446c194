# A forward proxy: the Host header says where a request goes, a whitelist which addresses it may
# reach.
#
# Use it when tenants' names are not known beforehand. The whitelist is what keeps a client's Host
# header away from everything else in your network: it is checked against the addresses in the DNS
# answer, whatever the name, and each address that it drops is logged (`whitelist drops`).
#
# Change: the networks in `reachable` (a narrow list, never 0.0.0.0/0), the port, and the
# pattern of names.

vcl 4.1;

import dynamic;

backend default none;

# Where requests may go. `!` takes addresses out again, such as this server's own.
acl reachable {
	! "192.0.2.1";
	"192.0.2.0"/24;
	"2001:db8:2::"/48;
}

sub vcl_init {
	# Names come from clients: those that nobody asks for any more go away soon, and a name
	# that does not resolve holds a request only for a short time. With HOST, names that share
	# an address have connections of their own, up to the limit.
	new tenants = dynamic.director(port = "80", whitelist = reachable, share = HOST,
	    ttl = 60s, domain_usage_timeout = 10m, first_lookup_timeout = 3s,
	    max_connections = 200);
}

sub vcl_recv {
	# A port in the Host header would win over the director's, and an address is not a name:
	# only plain names of our tenants pass.
	if (req.http.Host !~ "^(?i)[a-z0-9-]+(\.[a-z0-9-]+)*\.tenants\.example\.com$") {
		return (synth(421));
	}
	# No host: that of the Host header.
	set req.backend_hint = tenants.backend();
}
