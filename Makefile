# `make help` lists what can be made. The work is done by cargo and by scripts/.

.POSIX:
.SUFFIXES:

ENV = env=$$(scripts/env.sh) && eval "$$env"

.PHONY: help setup engine build check demo install uninstall env clean audit bench man vtc fmt

help:
	@echo 'make build      builds libvmod_dynamic.so'
	@echo 'make demo       shows the module at work in a real server; KEEP=1 leaves it running'
	@echo 'make check      runs every check, as CI does; ENGINES=all: the VTC suite on each cached engine too'
	@echo 'make install    installs the module and its manual page for the engine in use;'
	@echo '                DESTDIR and PREFIX are honoured'
	@echo 'make uninstall  removes them'
	@echo 'make setup      installs what is missing, and nothing else'
	@echo 'make engine     builds another engine into the cache folder, from SOURCE=TARBALL or FOLDER'
	@echo 'make env        prints shell exports: eval "$$(make -s env)"'
	@echo 'make man        makes the manual page from vmod.vcc'
	@echo 'make vtc        runs the VTC suite; T=NAME: those tests whose name holds NAME'
	@echo 'make bench      runs the benchmarks'
	@echo 'make fmt        formats the sources'
	@echo 'make audit      checks licences, sources and advisories of the dependencies'
	@echo 'make clean      removes what was built'
	@echo
	@echo 'Each installs what it lacks (Debian packages; an engine, once, in a cache folder);'
	@echo 'with NO_INSTALL=1 it names what is missing instead. With ENGINE=NAME, such as'
	@echo 'varnish-8.0.0, the engine of that name in the cache folder is used.'

setup:
	@scripts/setup.sh

engine:
	@scripts/setup.sh engine
	@scripts/engine_source.sh '$(SOURCE)'

build: setup
	@$(ENV) && cargo build --release

check:
	@ENGINES='$(ENGINES)' scripts/check.sh

demo: setup
	@$(ENV) && cargo build --release --package vmod_dynamic --package testdns && KEEP='$(KEEP)' python3 scripts/demo

install:
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install.sh install

uninstall:
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install.sh uninstall

env:
	@scripts/env.sh

man: setup
	@$(ENV) && scripts/man.sh

vtc:
	@scripts/setup.sh check
	@$(ENV) && cargo test --test vtc -- $(T)

bench: setup
	@$(ENV) && cargo build --release --package vmod_dynamic --package testdns && python3 bench

fmt:
	@cargo fmt --all

audit: setup
	@scripts/audit.sh

clean:
	@cargo clean
