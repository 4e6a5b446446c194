"""The VCL of the benchmarks: each case is an expression, which one request evaluates very often."""

# Powers of ten, by nested subroutines: VCL has no loops.
DEPTH = 4
CALLS = 10 ** (DEPTH + 1)

SIZES = (1, 3, 10, 100, 1000)
MANY = (1, 1000, 10000)

# What the loops cost by themselves.
EMPTY = "empty"


def addresses(count):
    """Loopback addresses on which nobody listens."""
    return [f"127.{10 + n // 62500}.{n // 250 % 250}.{1 + n % 250}" for n in range(count)]


def zone():
    """Names of so many addresses, and names without number with one each."""
    for size in SIZES:
        yield f"set a{size}.test A {' '.join(addresses(size))}"
    for n, address in enumerate(addresses(max(MANY))):
        yield f"set n{n}.many.test A {address}"


def ten(expression):
    """Ten statements that evaluate an expression, with `#` for the number of each."""
    return "".join(f"\tif ({expression.replace('#', str(n))}) {{ }}\n" for n in range(10))


def loops(name, expression):
    yield f"sub {name}_0 {{\n{ten(expression)}}}\n"
    for level in range(DEPTH):
        yield f"sub {name}_{level + 1} {{\n" + f"\tcall {name}_{level};\n" * 10 + "}\n"


def cases():
    """The expression of each case, by name."""
    found = {EMPTY: "req.backend_hint"}
    for n in SIZES:
        found |= {
            f"ours_{n}": f'd.backend("a{n}.test").resolve()',
            f"stock_{n}": f"rr{n}.backend().resolve()",
            f"key_{n}": f'd.backend("a{n}.test", key = "user-#")',
            f"shard_{n}": f'sh{n}.backend(by = KEY, key = sh{n}.key("user-#"), resolve = NOW)',
            f"shardint_{n}": f"sh{n}.backend(by = KEY, key = 123456#, resolve = NOW)",
            f"random_{n}": f'dr.backend("a{n}.test").resolve()',
            f"least_{n}": f'dl.backend("a{n}.test").resolve()',
            f"bounded_{n}": f'db.backend("a{n}.test", key = "user-#")',
            f"spill_{n}": f'ds.backend("a{n}.test").resolve()',
        }
    found["lookup"] = 'd.backend("a10.test")'
    found["many"] = 'd.backend("n#.many.test").resolve()'
    return found


def choices(dns):
    """The VCL that compares choices."""
    yield "vcl 4.1;\nimport dynamic;\nimport directors;\nbackend none none;\n"
    for n, address in enumerate(addresses(max(SIZES))):
        yield f'backend b{n} {{ .host = "{address}"; .port = "80"; }}\n'
    yield 'acl odd { "127.10.0.1"; "127.10.0.3"; "127.10.0.5"; "127.10.0.7"; "127.10.0.9"; }\n'
    yield "sub vcl_init {\n\tnew r = dynamic.resolver();\n"
    yield f'\tr.add_nameserver("{dns}");\n'
    given = 'port = "80", resolver = r.use(), domain_usage_timeout = 1d'
    yield f"\tnew d = dynamic.director({given});\n"
    yield f"\tnew dr = dynamic.director({given}, algorithm = RANDOM);\n"
    yield f"\tnew dl = dynamic.director({given}, algorithm = LEAST);\n"
    yield f"\tnew db = dynamic.director({given}, hash_balance = 1.25);\n"
    yield f"\tnew ds = dynamic.director({given}, prefer = odd, overprovisioning = 1.4);\n"
    for size in SIZES:
        yield f"\tnew rr{size} = directors.round_robin();\n\tnew sh{size} = directors.shard();\n"
        for n in range(size):
            yield f"\trr{size}.add_backend(b{n});\n\tsh{size}.add_backend(b{n});\n"
        yield f"\tsh{size}.reconfigure();\n"
    yield "}\n"
    expressions = cases()
    for name, expression in expressions.items():
        yield from loops(name, expression)
    yield "sub vcl_recv {\n"
    for name in expressions:
        yield f'\tif (req.url == "/{name}") {{ call {name}_{DEPTH}; }}\n'
    yield '\tif (req.url == "/host") { if (d.backend().resolve()) { } }\n'
    yield "\treturn (synth(200));\n}\n"


def names(dns, ttl):
    """The VCL that has many names."""
    yield "vcl 4.1;\nimport dynamic;\nbackend none none;\nsub vcl_init {\n\tnew r = dynamic.resolver();\n"
    yield f'\tr.add_nameserver("{dns}");\n'
    yield f'\tnew d = dynamic.director(port = "80", resolver = r.use(), domain_usage_timeout = 1d, ttl = {ttl});\n'
    yield "}\nsub vcl_recv {\n\tif (req.url == \"/host\") { if (d.backend().resolve()) { } }\n"
    yield "\treturn (synth(200));\n}\n"
