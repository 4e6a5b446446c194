//! The four forms of `backend.list`. They read a snapshot: the CLI never waits
//! for DNS.

use std::fmt::{self, Write};

use dynamic_core::schedule::TtlFrom;
use dynamic_core::select::{Algorithm, HashScope};
use serde_json::{Map, Value, json};

use super::Domain;
use super::snapshot::Snapshot;
use crate::vrt::{Ctx, Vsb};

/// What the lists count.
#[derive(Clone, Copy, Debug, Default)]
struct Health {
    healthy: usize,
    total: usize,
    preferred: usize,
    changed: f64,
}

impl Health {
    fn of(ctx: Ctx<'_>, snapshot: &Snapshot) -> Self {
        let mut health = Health {
            total: snapshot.backends().len(),
            ..Health::default()
        };
        for endpoint in snapshot.backends() {
            let (healthy, changed) = endpoint.leaf.health(ctx);
            health.changed = health.changed.max(changed);
            if healthy {
                health.healthy += 1;
                health.preferred += usize::from(endpoint.rank.is_preferred());
            }
        }
        health
    }

    fn word(self) -> &'static str {
        word(self.healthy > 0)
    }
}

fn word(healthy: bool) -> &'static str {
    if healthy { "healthy" } else { "sick" }
}

impl Domain {
    /// Writes what `backend.list` wants of this name. On the CLI thread, which
    /// may hold the engine's VCL lock.
    pub(super) fn write_list(&self, ctx: Ctx<'_>, out: &mut Vsb<'_>, detail: bool, json: bool) {
        let snapshot = self.snapshot.load();
        let written = match (detail, json) {
            (false, false) => self.write_row(ctx, out, &snapshot),
            (true, false) => write_rows(ctx, out, &snapshot),
            (false, true) => self.write_message(ctx, out, &snapshot),
            // The engine prints the next member right behind this one.
            (true, true) => writeln!(out, "{},", self.details(ctx, &snapshot)),
        };
        // The buffer remembers an error, and the engine checks it.
        let _: fmt::Result = written;
    }

    fn write_row(&self, ctx: Ctx<'_>, out: &mut Vsb<'_>, snapshot: &Snapshot) -> fmt::Result {
        let health = Health::of(ctx, snapshot);
        if let Some(handle) = self.handle.get() {
            handle.set_changed(health.changed);
        }
        write!(
            out,
            "{}/{}\t{}",
            health.healthy,
            health.total,
            health.word()
        )
    }

    fn write_message(&self, ctx: Ctx<'_>, out: &mut Vsb<'_>, snapshot: &Snapshot) -> fmt::Result {
        let health = Health::of(ctx, snapshot);
        if let Some(handle) = self.handle.get() {
            handle.set_changed(health.changed);
        }
        let mut message = vec![
            json!(health.healthy),
            json!(health.total),
            json!(health.word()),
        ];
        if self.config.prefers() {
            message.push(json!({ "preferred": health.preferred }));
        }
        write!(out, "{}", Value::Array(message))
    }

    fn details(&self, ctx: Ctx<'_>, snapshot: &Snapshot) -> Value {
        let settings = &self.config.settings;
        let references = &self.config.references;
        let mut details = Map::new();
        let mut set = |name: &str, value: Value| {
            details.insert(name.to_owned(), value);
        };
        set("port", json!(self.port.text));
        set("hosthdr", json!(settings.host_header));
        set("share", json!(settings.share.as_str()));
        set("probe", json!(references.probe.is_some()));
        set("whitelist", json!(references.whitelist.is_some()));
        set("connect_timeout", json!(settings.connect_timeout));
        set("first_byte_timeout", json!(settings.first_byte_timeout));
        set(
            "between_bytes_timeout",
            json!(settings.between_bytes_timeout),
        );
        set(
            "domain_usage_timeout",
            json!(settings.domain_usage_timeout.as_secs_f64()),
        );
        set(
            "first_lookup_timeout",
            json!(settings.first_lookup_timeout.as_secs_f64()),
        );
        set("max_connections", json!(settings.max_connections));
        set("proxy_header", json!(settings.proxy_header));
        set(
            "resolver",
            json!(references.resolver.as_ref().map(|r| r.name())),
        );
        set("retry_after", json!(settings.retry_after.as_secs_f64()));
        set("via", json!(references.via.is_some()));
        set("ttl_from", json!(ttl_from(settings.ttl_from)));
        set("ttl", json!(settings.ttl.as_secs_f64()));
        set("keep", json!(settings.keep));
        set("prefer", json!(self.config.prefers()));
        set("algorithm", json!(algorithm(settings.rules.algorithm)));
        set("hash_header", json!(settings.hash_header));
        set("hash_balance", json!(settings.rules.hash_balance));
        set(
            "hash_scope",
            json!(if settings.rules.hash_scope == HashScope::All {
                "ALL"
            } else {
                "TIER"
            }),
        );
        set("overprovisioning", json!(settings.rules.overprovisioning));
        set("slow_start", json!(settings.slow_start));
        set(
            "session",
            json!(references.session.as_ref().map(|s| s.name())),
        );
        set(
            "buckets",
            json!(references.buckets.as_ref().map(|b| b.name())),
        );
        if let Some(owners) = snapshot.owners() {
            set("buckets_unowned", json!(owners.unowned()));
        }
        let backends: Map<String, Value> = snapshot
            .backends()
            .iter()
            .enumerate()
            .map(|(i, e)| {
                let mut backend = json!({
                    "health": word(e.leaf.healthy(ctx)),
                    "preferred": e.rank.is_preferred(),
                    "score": e.rank.score,
                    "priority": e.rank.priority,
                    "weight": e.rank.weight,
                    "in_flight": e.leaf.in_flight(),
                    "address": e.key.address.to_string(),
                    "port": e.key.port,
                });
                if let (Some(owners), Value::Object(backend)) = (snapshot.owners(), &mut backend) {
                    backend.insert("buckets".to_owned(), json!(owners.count(i)));
                }
                (e.leaf.name().to_owned(), backend)
            })
            .collect();
        set("backends", Value::Object(backends));
        Value::Object(details)
    }
}

fn algorithm(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::RoundRobin => "ROUND_ROBIN",
        Algorithm::Random => "RANDOM",
        Algorithm::Least => "LEAST",
        Algorithm::PowerOfTwo => "POWER_OF_TWO",
    }
}

fn ttl_from(from: TtlFrom) -> &'static str {
    match from {
        TtlFrom::Cfg => "cfg",
        TtlFrom::Dns => "dns",
        TtlFrom::Min => "min",
        TtlFrom::Max => "max",
    }
}

/// Rows below the name's own. The engine's table has five columns; a row with
/// more ends the server, so what is ours shares one.
fn write_rows(ctx: Ctx<'_>, out: &mut Vsb<'_>, snapshot: &Snapshot) -> fmt::Result {
    write!(out, "\n\n\tBackend\tRank\tHealth\n")?;
    for e in snapshot.backends() {
        let preferred = if e.rank.is_preferred() {
            "preferred, "
        } else {
            ""
        };
        writeln!(
            out,
            "\t{}\t{preferred}score {}, priority {}, weight {}, in flight {}\t{}",
            e.leaf.name(),
            e.rank.score,
            e.rank.priority,
            e.rank.weight,
            e.leaf.in_flight(),
            word(e.leaf.healthy(ctx)),
        )?;
    }
    Ok(())
}
