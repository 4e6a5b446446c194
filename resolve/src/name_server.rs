//! Name servers, as VCL and resolv.conf write them.

use std::net::{IpAddr, SocketAddr};

use dynamic_core::name::{self, Excerpt, Host, NameError};
use thiserror::Error;

/// A server to ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NameServer {
    /// Its address.
    pub address: IpAddr,
    /// The zone of a link-local IPv6 address: the name or number of an
    /// interface, as written.
    pub zone: Option<String>,
    /// Its port, 1 to 65535. `None` is the transport's: 53, or 853 for TLS.
    pub port: Option<u16>,
    /// The name, or address, that the server's certificate must have.
    pub tls_name: Option<String>,
}

impl From<IpAddr> for NameServer {
    fn from(address: IpAddr) -> Self {
        Self {
            address,
            zone: None,
            port: None,
            tls_name: None,
        }
    }
}

/// A text that is no name server. Its own text is one line that is safe to
/// log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameServerError {
    /// Not an IP address.
    #[error(
        "name server {0} has no IP address: \"192.0.2.53\", \"192.0.2.53:5353\", \"::1\" and \
         \"[::1]:5353\" are accepted, each with \"#name\" for TLS"
    )]
    Address(Excerpt),
    /// A port that is no number from 1 to 65535.
    #[error("name server {0} has a bad port: 1 to 65535 is accepted")]
    Port(Excerpt),
    /// A zone id that is empty, or belongs to an IPv4 address.
    #[error("name server {0} has a bad zone id: \"fe80::1%eth0\" is accepted")]
    Zone(Excerpt),
    /// Not a host name behind the `#`.
    #[error("name server {0} has a bad name for TLS: {1}")]
    TlsName(Excerpt, NameError),
}

impl NameServer {
    /// Reads `address`, `v4:port` or `[v6]:port`, each with `#name` for TLS.
    /// IPv6 addresses may have a zone id, `%zone`.
    ///
    /// # Errors
    ///
    /// [`NameServerError`] names the text and its first bad part.
    pub fn parse(text: &str) -> Result<Self, NameServerError> {
        let excerpt = || Excerpt::new(text.as_bytes());
        let (endpoint, tls_name) = match text.split_once('#') {
            Some((endpoint, name)) => {
                let host =
                    tls_host(name).map_err(|error| NameServerError::TlsName(excerpt(), error))?;
                (endpoint, Some(host.to_string()))
            }
            None => (text, None),
        };
        let (address, port) =
            split_port(endpoint).ok_or_else(|| NameServerError::Address(excerpt()))?;
        let (address, zone) = match address.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (address, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| NameServerError::Address(excerpt()))?;
        if zone.is_some_and(|zone| !is_zone(address, zone)) {
            return Err(NameServerError::Zone(excerpt()));
        }
        let port = match port {
            Some(port) => Some(port_number(port).ok_or_else(|| NameServerError::Port(excerpt()))?),
            None => None,
        };
        Ok(Self {
            address,
            zone: zone.map(str::to_owned),
            port,
            tls_name,
        })
    }

    /// Where to connect to, with the transport's port where there is none.
    /// The zone has yet to be applied.
    #[must_use]
    pub fn socket_address(&self, transport_port: u16) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(transport_port))
    }
}

fn tls_host(name: &str) -> Result<Host, NameError> {
    let target = name::parse(name.as_bytes())?;
    if target.port.is_some() {
        return Err(NameError {
            input: Excerpt::new(name.as_bytes()),
            flaw: name::Flaw::Octet(b':'),
        });
    }
    Ok(target.host)
}

/// Splits `[address]:port`, `[address]`, `v4:port` and `address`.
fn split_port(endpoint: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = endpoint.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        return match rest {
            "" => Some((address, None)),
            _ => Some((address, Some(rest.strip_prefix(':')?))),
        };
    }
    match endpoint.split_once(':') {
        Some((address, port)) if !port.contains(':') => Some((address, Some(port))),
        _ => Some((endpoint, None)),
    }
}

fn port_number(port: &str) -> Option<u16> {
    // The standard parser takes a plus sign too.
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    port.parse().ok().filter(|number| *number != 0)
}

fn is_zone(address: IpAddr, zone: &str) -> bool {
    address.is_ipv6() && !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests;
