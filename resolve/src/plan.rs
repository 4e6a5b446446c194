//! Whom to ask, and how: what the settings and the system say together.

use std::sync::Arc;
use std::time::Duration;

use crate::name_server::NameServer;
use crate::resolv_conf::ResolvConf;

use crate::files::SystemFiles;
use crate::server::{Server, ServerOptions};
use crate::servers::{QueryBudget, Servers};
use crate::settings::{Settings, Transport};

const DEFAULT_IDLE: Duration = Duration::from_secs(30);

/// How long a name of the search list has that is asked before the one in
/// force: it may have come into being, and rarely has.
const BRIEF: Duration = Duration::from_secs(1);

/// No timeout is shorter or longer.
const MIN_TIMEOUT: Duration = Duration::from_millis(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// The settings and the system's configuration as one, for as long as that
/// does not change.
pub(crate) struct Plan {
    from: Option<Arc<ResolvConf>>,
    pub(crate) servers: Servers,
    pub(crate) search: Vec<String>,
    pub(crate) ndots: u8,
    /// For each question of a lookup.
    budget: QueryBudget,
    /// How long a lookup may take in all.
    total: Option<Duration>,
    /// Ask for AAAA records at all.
    pub(crate) aaaa: bool,
    options: ServerOptions,
}

impl Plan {
    /// Servers that stay keep their connections and what the last plan knew of
    /// them.
    pub(crate) fn new(
        settings: &Settings,
        #[cfg_attr(
            not(feature = "tls"),
            allow(unused_variables, reason = "TLS alone needs them")
        )]
        files: &SystemFiles,
        from: Option<Arc<ResolvConf>>,
        last: Option<&Plan>,
    ) -> Self {
        let conf = match &from {
            Some(conf) => ResolvConf::clone(conf),
            None => ResolvConf {
                servers: Vec::new(),
                ..ResolvConf::default()
            },
        };
        let configs = match settings.nameservers.as_slice() {
            [] => conf.servers,
            own => own.to_vec(),
        };
        let attempts = u32::from(conf.attempts.max(1));
        let total = settings
            .timeout
            .map(|total| total.clamp(MIN_TIMEOUT, MAX_TIMEOUT));
        let timeout = total.map_or(conf.timeout, |total| total / attempts);
        let transports = match settings.transports.as_slice() {
            [] if conf.use_vc => vec![Transport::Tcp],
            [] => vec![Transport::Udp, Transport::Tcp],
            own => own.to_vec(),
        };
        let options = ServerOptions {
            transports,
            timeout,
            idle: settings.idle_timeout.unwrap_or(DEFAULT_IDLE),
            #[cfg(feature = "tls")]
            trust: files.trust(),
        };
        let kept = |config: &NameServer| {
            last.filter(|last| last.options.same(&options))
                .and_then(|last| last.servers.iter().find(|it| it.config == *config))
                .map(Arc::clone)
        };
        let servers = configs
            .iter()
            .map(|config| {
                kept(config).unwrap_or_else(|| Arc::new(Server::new(config.clone(), &options)))
            })
            .collect();
        Self {
            from,
            servers: Servers::new(servers, conf.rotate),
            search: match settings.search.as_slice() {
                [] => conf.search,
                own => own.to_vec(),
            },
            ndots: conf.ndots,
            budget: QueryBudget { timeout, attempts },
            total,
            aaaa: !conf.no_aaaa,
            options,
        }
    }

    /// What a question may take of a lookup that began `since` ago and has
    /// `left` of `all` candidates to ask, this one among them. None takes the
    /// time of those behind it. With `brief`, a candidate that does not answer
    /// soon is passed over.
    pub(crate) fn budget(
        &self,
        since: Duration,
        left: usize,
        all: usize,
        brief: bool,
    ) -> QueryBudget {
        let share = |time: Duration, of: usize| time / u32::try_from(of).unwrap_or(u32::MAX).max(1);
        let mut budget = self.budget;
        if let Some(total) = self.total {
            // A wait for a free slot is no reason to ask nobody.
            let remaining = share(total.saturating_sub(since), left);
            budget = budget.within(remaining.max(share(total, all)));
        }
        if brief {
            budget = budget.within(BRIEF);
        }
        budget
    }

    /// Whether it was made from this state of the system.
    pub(crate) fn is_from(&self, conf: Option<&Arc<ResolvConf>>) -> bool {
        match (&self.from, conf) {
            (Some(from), Some(conf)) => Arc::ptr_eq(from, conf),
            (from, conf) => from.is_none() && conf.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(settings: &Settings, conf: ResolvConf) -> Plan {
        Plan::new(
            settings,
            &SystemFiles::default(),
            Some(Arc::new(conf)),
            None,
        )
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn without_a_time_out_of_the_settings_each_candidate_has_that_of_the_system() {
        let plan = plan(&Settings::default(), ResolvConf::default());
        for left in 1..4 {
            let budget = plan.budget(seconds(1000), left, 4, false);
            assert_eq!((budget.timeout, budget.attempts), (seconds(5), 2));
        }
        assert_eq!(plan.budget(seconds(0), 2, 4, true).total(), seconds(1));
    }

    #[test]
    fn the_time_out_of_the_settings_is_for_all_candidates_together() {
        let settings = Settings {
            timeout: Some(seconds(8)),
            ..Settings::default()
        };
        let plan = plan(&settings, ResolvConf::default());
        let total = |since, left| plan.budget(seconds(since), left, 4, false).total();
        assert_eq!(plan.budget(seconds(0), 1, 1, false).total(), seconds(8));
        assert_eq!(plan.budget(seconds(0), 1, 1, false).timeout, seconds(4));
        // All silent: each its quarter.
        assert_eq!(total(0, 4), seconds(2));
        assert_eq!(total(2, 3), seconds(2));
        assert_eq!(total(6, 1), seconds(2));
        // What the first ones do not need, the others have.
        assert_eq!(total(0, 2), seconds(4));
        assert_eq!(total(0, 1), seconds(8));
        // The wait for a free slot took all of it.
        assert_eq!(total(100, 1), seconds(2));
    }
}
