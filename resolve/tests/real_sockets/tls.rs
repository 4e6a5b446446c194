//! DNS over TLS: whom the resolver believes, and whom not.

use std::sync::Arc;
use std::time::Duration;

use dynamic_core::answer::Failure;
use dynamic_resolve::NameServer;
use dynamic_resolve::{Lookup, Resolver, Settings, SystemFiles, Transport};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::proxy::{Mode, Proxy};
use crate::support::{Dns, LONG, family, one, over, settings};

const ZONE: &str = "set a.test A 192.0.2.1\nset *.many.test A 192.0.2.2\n";

struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, dir }
    }

    /// Trusts this authority alone.
    fn files(&self) -> SystemFiles {
        SystemFiles::new(
            "/nonexistent/resolv.conf",
            "/nonexistent/hosts",
            "/nonexistent/nsswitch.conf",
        )
        .recheck(Duration::ZERO)
        .certificates(self.dir.path().join("ca.pem"))
    }

    /// A TLS front, with a certificate for this name or address, of a server.
    async fn front(&self, subject: &str, dns: &Dns) -> Proxy {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![subject.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Proxy::new(dns.address(), move |stream| {
            let acceptor = acceptor.clone();
            async move { acceptor.accept(stream).await.ok() }
        })
        .await
    }
}

fn named(proxy: &Proxy, name: &str) -> Settings {
    let server = NameServer::parse(&format!("{}{name}", proxy.address)).unwrap();
    Settings {
        nameservers: vec![server],
        ..settings(&[], LONG)
    }
}

async fn ask(settings: Settings, files: SystemFiles) -> Lookup<dynamic_core::answer::HostAnswer> {
    Resolver::new(settings, files)
        .host("a.test", false, None)
        .await
}

#[tokio::test]
async fn a_server_with_the_right_name_is_believed() {
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let front = authority.front("dns.example", &dns).await;
    let settings = named(&front, "#dns.example");
    // A name alone means TLS; so does the transport.
    for settings in [settings.clone(), over(&[Transport::Tls], settings)] {
        let lookup = ask(settings, authority.files()).await;
        assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
        assert_eq!(lookup.answer.v6, Err(Failure::NoData));
        assert_eq!(lookup.report.faults, []);
    }
    assert_eq!(dns.count("* udp"), 0);
}

#[tokio::test]
async fn a_server_with_another_name_is_not() {
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let front = authority.front("dns.example", &dns).await;
    for name in ["#other.example", "#192.0.2.1", "#sub.dns.example"] {
        let lookup = ask(named(&front, name), authority.files()).await;
        assert_eq!(lookup.answer.v4, Err(Failure::Unreachable), "{name}");
        let fault = lookup.report.faults[0].to_string();
        assert!(fault.contains("invalid peer certificate"), "{fault}");
    }
    assert_eq!(dns.count("*"), 0);
}

#[tokio::test]
async fn a_server_of_another_authority_is_not() {
    let (authority, stranger, dns) = (Authority::new(), Authority::new(), Dns::new(ZONE));
    let front = authority.front("dns.example", &dns).await;
    let lookup = ask(named(&front, "#dns.example"), stranger.files()).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
    // The system's authorities do not know it either.
    let system = SystemFiles::new(
        "/nonexistent/resolv.conf",
        "/nonexistent/hosts",
        "/nonexistent/nsswitch.conf",
    );
    let lookup = ask(named(&front, "#dns.example"), system).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
    let none = authority.files().certificates("/nonexistent/ca.pem");
    let lookup = ask(named(&front, "#dns.example"), none).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
    let fault = lookup.report.faults[0].to_string();
    assert!(fault.contains("no certificate authorities"), "{fault}");
    assert_eq!(dns.count("*"), 0);
}

#[tokio::test]
async fn a_server_without_a_name_needs_a_certificate_for_its_address() {
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let right = authority.front("127.0.0.1", &dns).await;
    let wrong = authority.front("127.0.0.2", &dns).await;
    let tls = |front| over(&[Transport::Tls], named(front, ""));
    let lookup = ask(tls(&right), authority.files()).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    let lookup = ask(tls(&wrong), authority.files()).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
}

#[tokio::test]
async fn a_server_that_knows_no_tls_is_a_failure() {
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let settings = Settings {
        nameservers: vec![NameServer {
            tls_name: Some("dns.example".into()),
            ..crate::support::name_server(dns.address())
        }],
        timeout: Some(Duration::from_millis(300)),
        ..settings(&[], LONG)
    };
    let lookup = ask(settings, authority.files()).await;
    let failure = lookup.answer.v4.unwrap_err();
    assert!(
        matches!(failure, Failure::Unreachable | Failure::Timeout),
        "{failure}"
    );
    assert_eq!(dns.count("* udp"), 0);
}

#[tokio::test]
async fn all_questions_share_a_connection_and_a_lost_one_is_replaced() {
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let front = authority.front("dns.example", &dns).await;
    let resolver = Resolver::new(named(&front, "#dns.example"), authority.files());
    for round in 1..=3 {
        let names: Vec<String> = (0..100).map(|n| format!("n{n}.many.test")).collect();
        let lookups = names.iter().map(|name| resolver.host(name, false, None));
        for lookup in futures_util::future::join_all(lookups).await {
            assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
        }
        assert_eq!(front.opened(), round);
        front.set(Mode::Close);
        front.closed(round).await;
        front.set(Mode::Pass);
    }
}

/// The variable belongs to a process, so the lookup is made in one of its own:
/// this test again, told the server.
#[tokio::test]
async fn the_authorities_of_the_system_are_those_of_ssl_cert_file() {
    const SERVER: &str = "TEST_TLS_SERVER";
    if let Ok(server) = std::env::var(SERVER) {
        let settings = Settings {
            nameservers: vec![NameServer::parse(&server).unwrap()],
            ..settings(&[], LONG)
        };
        let lookup = ask(settings, crate::support::no_files()).await;
        assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
        return;
    }
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let front = authority.front("dns.example", &dns).await;
    let this = std::thread::current().name().unwrap().to_owned();
    for (file, good) in [("ca.pem", true), ("none.pem", false)] {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &this])
            .env(SERVER, format!("{}#dns.example", front.address))
            .env("SSL_CERT_FILE", authority.dir.path().join(file))
            .env_remove("SSL_CERT_DIR")
            .output();
        let child = child.await.unwrap();
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(text.contains("running 1 test"), "{text}");
        assert_eq!(child.status.success(), good, "{text}");
    }
}

#[tokio::test]
async fn the_authorities_file_may_come_later() {
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let front = authority.front("dns.example", &dns).await;
    let late = authority.dir.path().join("late.pem");
    let files = authority.files().certificates(&late);
    let resolver = Resolver::new(named(&front, "#dns.example"), files);
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
    std::fs::copy(authority.dir.path().join("ca.pem"), late).unwrap();
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
}

#[tokio::test]
async fn an_authorities_file_with_rubbish_is_read_as_far_as_possible() {
    let (authority, dns) = (Authority::new(), Dns::new(ZONE));
    let front = authority.front("dns.example", &dns).await;
    let mixed = authority.dir.path().join("mixed.pem");
    let good = std::fs::read_to_string(authority.dir.path().join("ca.pem")).unwrap();
    let rubbish = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(&mixed, format!("# text\n{rubbish}{good}")).unwrap();
    let files = authority.files().certificates(mixed);
    let lookup = ask(named(&front, "#dns.example"), files).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
}
