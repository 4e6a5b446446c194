"""The names, addresses and VCL of the demo."""

import socket
import textwrap

NAME = "origin.test"
DUAL = "dual.test"
NEAR = ["127.0.1.1", "127.0.1.2", "127.0.1.3"]
FAR = ["127.0.2.1", "127.0.2.2"]
V6 = "::1"

ACL = 'acl near { "127.0.1.0"/24; }'
DIRECTOR = """\
    new d = dynamic.director(port = "@port@", probe = up, prefer = near,
        resolver = r.use(), ttl = 0.5s, retry_after = 0.5s, keep = 1);"""
VCL = f"""\
vcl 4.1;

import dynamic;

backend default none;

{ACL}
acl ipv6 {{ "::"/0; }}

probe up {{
    .url = "/health";
    .interval = 0.2s;
    .timeout = 3s;
    .window = 3;
    .threshold = 2;
    .initial = 2;
}}

sub vcl_init {{
    new r = dynamic.resolver();
    r.add_nameserver("@dns@");
    r.set_timeout(0.5s);
{DIRECTOR}
    new v6first = dynamic.director(port = "@port@", probe = up, prefer = ipv6,
        resolver = r.use(), ttl = 0.5s, retry_after = 0.5s);
}}

sub vcl_recv {{
    if (req.http.Host == "dual.test") {{
        set req.backend_hint = v6first.backend("dual.test");
    }} else {{
        set req.backend_hint = d.backend("origin.test");
    }}
    return (pass);
}}
"""


def addresses():
    """Where there are backends; the IPv6 one only on a machine that has the address."""
    return NEAR + FAR + ([V6] if has_ipv6() else [])


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind((V6, 0))
    except OSError:
        return False
    return True


def vcl(dns, port):
    return fill(VCL, dns, port)


def main_lines(port):
    """The lines of the VCL that matter."""
    director = textwrap.dedent(fill(DIRECTOR, "", port)).splitlines()
    return [f"{ACL}   # {' and '.join(FAR)} are far", *director]


def fill(text, dns, port):
    return text.replace("@dns@", dns).replace("@port@", str(port))


def zone():
    return [
        "ttl 1",
        f"set {NAME} A {NEAR[0]} {NEAR[1]} {FAR[0]} {FAR[1]}",
        f"set {DUAL} A {NEAR[0]}",
        f"set {DUAL} AAAA {V6}",
    ]
