//! Whom to trust for DNS over TLS, and under which name.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_net::NetError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::Instant;

/// Certificates are read again when they are this old and a connection is
/// made.
const FRESH: Duration = Duration::from_secs(600);

/// The TLS settings for all servers.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    /// A PEM file; `None` is what the system has.
    file: Option<PathBuf>,
    read: Mutex<Option<(Instant, Arc<ClientConfig>)>>,
}

/// The TLS settings for one server.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    name: String,
    trust: Arc<Trust>,
}

impl Tls {
    /// `name`: what the certificate must have, a host name or an IP address.
    pub(crate) fn new(name: String, trust: Arc<Trust>) -> Self {
        Self { name, trust }
    }

    pub(crate) fn name(&self) -> Result<ServerName<'static>, NetError> {
        ServerName::try_from(self.name.clone())
            .map_err(|_| format!("{} is no name for a certificate", self.name).into())
    }

    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, NetError> {
        self.trust.config()
    }
}

impl Trust {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self {
            file: Some(file),
            read: Mutex::new(None),
        }
    }

    fn config(&self) -> Result<Arc<ClientConfig>, NetError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, config)) = read.as_ref()
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(config));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.certificates());
        if roots.is_empty() {
            return Err("no certificate authorities to trust".into());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let config = Arc::new(config);
        *read = Some((Instant::now(), Arc::clone(&config)));
        Ok(config)
    }

    fn certificates(&self) -> Vec<CertificateDer<'static>> {
        match &self.file {
            Some(path) => CertificateDer::pem_file_iter(path)
                .map(|certificates| certificates.flatten().collect())
                .unwrap_or_default(),
            None => rustls_native_certs::load_native_certs().certs,
        }
    }
}
