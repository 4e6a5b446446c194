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
    pub(crate) budget: QueryBudget,
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
        let timeout = settings
            .timeout
            .unwrap_or(conf.timeout)
            .clamp(MIN_TIMEOUT, MAX_TIMEOUT);
        let mut transports = settings.transports.clone();
        if conf.use_vc && transports == Settings::default().transports {
            transports = vec![Transport::Tcp];
        }
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
            budget: QueryBudget {
                timeout,
                attempts: conf.attempts.into(),
            },
            options,
        }
    }

    /// Whether it was made from this state of the system.
    pub(crate) fn is_from(&self, conf: Option<&Arc<ResolvConf>>) -> bool {
        match (&self.from, conf) {
            (Some(from), Some(conf)) => Arc::ptr_eq(from, conf),
            (from, conf) => from.is_none() && conf.is_none(),
        }
    }
}
