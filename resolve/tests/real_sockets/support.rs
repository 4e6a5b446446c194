//! Servers, settings and answers, in few words.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dynamic_core::answer::{Failure, FamilyAnswer, HostAnswer};
use dynamic_resolve::NameServer;
use dynamic_resolve::{Namespace, Resolver, Settings, SystemFiles, Transport};
use testdns::Server;

/// Long enough for a slow machine: a test that reaches it fails.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// For what does not answer.
pub(crate) const SHORT: Duration = Duration::from_millis(400);

/// A name server.
#[derive(Clone)]
pub(crate) struct Dns(Arc<Server>);

impl Dns {
    pub(crate) fn new(zone: &str) -> Self {
        Self::on("127.0.0.1:0", zone)
    }

    pub(crate) fn on(address: &str, zone: &str) -> Self {
        let address: SocketAddr = address.parse().unwrap();
        Self(Arc::new(Server::with_zone(&[address], zone).unwrap()))
    }

    pub(crate) fn tell(&self, command: &str) -> String {
        self.0.command(command).unwrap()
    }

    /// Awaits so many questions.
    pub(crate) async fn wait(&self, what: &str) {
        let (server, command) = (Arc::clone(&self.0), format!("wait {what}"));
        let done = tokio::task::spawn_blocking(move || server.command(&command));
        done.await.unwrap().unwrap();
    }

    pub(crate) fn count(&self, what: &str) -> u32 {
        self.tell(&format!("count {what}")).parse().unwrap()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.addr()
    }
}

pub(crate) fn name_server(address: SocketAddr) -> NameServer {
    NameServer::parse(&address.to_string()).unwrap()
}

/// These servers and nothing else.
pub(crate) fn settings(servers: &[&Dns], timeout: Duration) -> Settings {
    Settings {
        from_os: false,
        nameservers: servers.iter().map(|it| name_server(it.address())).collect(),
        namespaces: vec![Namespace::Dns],
        timeout: Some(timeout),
        ..Settings::default()
    }
}

pub(crate) fn over(transports: &[Transport], settings: Settings) -> Settings {
    Settings {
        transports: transports.to_vec(),
        ..settings
    }
}

pub(crate) fn resolver(settings: Settings) -> Resolver {
    Resolver::new(settings, no_files())
}

/// No system but this test's.
pub(crate) fn no_files() -> SystemFiles {
    SystemFiles::new(
        "/nonexistent/resolv.conf",
        "/nonexistent/hosts",
        "/nonexistent/nsswitch.conf",
    )
    .recheck(Duration::ZERO)
}

/// A family's answer, sorted.
pub(crate) fn family(answer: &FamilyAnswer) -> Result<Vec<String>, Failure> {
    let mut addresses: Vec<IpAddr> = answer.as_ref().map_err(|it| *it)?.addresses.clone();
    addresses.sort();
    Ok(addresses.iter().map(ToString::to_string).collect())
}

/// Both families' addresses, all good.
pub(crate) fn both(answer: &HostAnswer) -> Vec<String> {
    let mut all = family(&answer.v4).unwrap();
    all.extend(family(&answer.v6).unwrap());
    all
}

/// One address, a good answer.
#[allow(
    clippy::unnecessary_wraps,
    reason = "it is compared with what `family` returns"
)]
pub(crate) fn one(address: &str) -> Result<Vec<String>, Failure> {
    Ok(vec![address.to_owned()])
}

/// For what must not take as long as the timeout that it has.
pub(crate) const ENDLESS: Duration = Duration::from_secs(200);

/// Awaits what must come well before [`ENDLESS`].
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future)
        .await
        .expect("it took too long")
}
