//! Host names as VCL or a client's `Host` header writes them, and their one
//! canonical form.
//!
//! The input is bytes from strangers. What comes out is an IP address or a
//! DNS name that is safe to ask, to log and to use as a key: lower case,
//! ASCII, no trailing dot.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use idna::AsciiDenyList;
use thiserror::Error;

/// The longest host name, in octets, without the trailing dot: 255 octets in
/// a message (RFC 1035, section 2.3.4) less a length octet and the root.
pub const MAX_NAME: usize = 253;

/// The longest label, in octets (RFC 1035, section 2.3.4).
pub const MAX_LABEL: usize = 63;

/// No name that is written with other than ASCII letters and has more octets
/// than this fits in [`MAX_NAME`]: Punycode spends at least one octet on a
/// code point, and UTF-8 at most four. Refusing the rest unseen bounds the
/// conversion, whose time grows with the square of the length.
const MAX_UNICODE: usize = 4 * MAX_NAME;

/// The longest port text, in octets. Service names have at most 15 (RFC 6335,
/// section 5.1); some files have longer ones.
const MAX_PORT: usize = 32;

/// How many characters an [`Excerpt`] may have.
const MAX_EXCERPT: usize = 64;

/// A host: an address that needs no lookup, or a name that does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// An IP literal. IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2)
    /// count as the IPv4 address that they reach, so that an ACL sees that
    /// one.
    Ip(IpAddr),
    /// A name of 1 to [`MAX_NAME`] octets without a trailing dot: labels of 1
    /// to [`MAX_LABEL`] lower-case letters, digits, hyphens and underscores.
    Dns(String),
}

impl Host {
    /// The canonical text with an IPv6 address in brackets, as URLs, `Host`
    /// headers and the names of backends have it.
    #[must_use]
    pub fn bracketed(&self) -> String {
        match self {
            Host::Ip(IpAddr::V6(address)) => format!("[{address}]"),
            Host::Ip(IpAddr::V4(_)) | Host::Dns(_) => self.to_string(),
        }
    }
}

/// The canonical text; IPv6 as in RFC 5952, without brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Ip(address) => address.fmt(f),
            Host::Dns(name) => f.write_str(name),
        }
    }
}

/// What [`parse`] reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The name was written with a trailing dot: it is complete, and no
    /// search list applies. Always false for an IP literal.
    pub absolute: bool,
    /// The text behind the colon, not yet looked at: 1 to 32 visible ASCII
    /// characters. `None` where there is none; RFC 3986, section 3.2.3, lets
    /// `host:` mean that too.
    pub port: Option<String>,
}

/// A name to be looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DnsName {
    /// The canonical form, without a trailing dot.
    pub text: String,
    /// Whether it is a full name (RFC 1034, section 3.1), to which no search
    /// list applies.
    pub absolute: bool,
}

/// The identity of an endpoint, whose text is `address:port`, with an IPv6
/// address in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndpointId {
    /// The address.
    pub address: IpAddr,
    /// The port, 1 to 65535.
    pub port: u16,
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// The beginning of a text from a stranger, in quotes, safe to log: visible
/// ASCII, everything else and quotes escaped, at most 64 characters; three
/// dots behind the quotes say that it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt(String);

impl Excerpt {
    /// The excerpt of a text of any length.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        let mut excerpt = String::with_capacity(MAX_EXCERPT);
        excerpt.push('"');
        for byte in text {
            let escaped = byte.escape_ascii();
            // The opening quote is in the length as well.
            if excerpt.len() + escaped.len() > MAX_EXCERPT + 1 {
                excerpt.push_str("\"...");
                return Self(excerpt);
            }
            excerpt.extend(escaped.map(char::from));
        }
        excerpt.push('"');
        Self(excerpt)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no host. Its own text is one line that is safe to log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("host {input} {flaw}")]
pub struct NameError {
    /// What was written.
    pub input: Excerpt,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    /// No host, or the root alone.
    #[error("is empty")]
    Empty,
    /// More than [`MAX_NAME`] octets.
    #[error("has {0} octets, at most 253 are accepted")]
    TooLong(usize),
    /// Two dots in a row or a leading dot.
    #[error("has an empty label")]
    EmptyLabel,
    /// A label of more than [`MAX_LABEL`] octets.
    #[error("has a label of {0} octets, at most 63 are accepted")]
    LongLabel(usize),
    /// An octet that no host name has.
    #[error(
        "has the octet \"{}\", letters, digits, hyphens, underscores and dots are accepted",
        .0.escape_ascii()
    )]
    Octet(u8),
    /// A label with a leading hyphen (RFC 952), which the C library's
    /// resolver refuses as well.
    #[error("has a label that begins with a hyphen")]
    Hyphen,
    /// The last label is a number, as only an IPv4 address may have it (the
    /// rule of the WHATWG URL standard, section 3.5).
    #[error(
        "ends in a number but is no IPv4 address: four decimal numbers from 0 to 255 without \
         leading zeros are accepted"
    )]
    Ipv4,
    /// Brackets, or more than one colon, around something else.
    #[error("is no IPv6 address")]
    Ipv6,
    /// A zone id (RFC 4007), which is this machine's affair.
    #[error("has a zone id, IPv6 addresses without one are accepted")]
    Zone,
    /// Brackets that do not match or are followed by something.
    #[error("has misplaced brackets, \"[v6]\" and \"[v6]:port\" are accepted")]
    Brackets,
    /// Octets that are no UTF-8.
    #[error("is neither ASCII nor UTF-8")]
    Utf8,
    /// No valid internationalised name.
    #[error("is no valid internationalised domain name")]
    Idn,
    /// An IP address where only a name makes sense.
    #[error("is an IP address, a name is accepted")]
    Address,
    /// Not the text of a port.
    #[error("has a port that is neither a number nor a service name")]
    Port,
}

/// Reads `host`, `host:port`, `v6`, `[v6]` or `[v6]:port`.
///
/// Letter case and one trailing dot do not matter; internationalised names
/// become their ASCII form (UTS 46, non-transitional). A text with two colons
/// or more and no brackets is an IPv6 address without a port.
///
/// # Errors
///
/// [`NameError`] names the text and its [`Flaw`].
pub fn parse(input: &[u8]) -> Result<Target, NameError> {
    read(input).map_err(|flaw| NameError {
        input: Excerpt::new(input),
        flaw,
    })
}

/// Writes the canonical form of a plain host to `buf` and returns it, without
/// allocating: for a request's path.
///
/// Plain are ASCII host names and IPv4 literals, with or without one trailing
/// dot, without a port. `None` says nothing about the validity of others: ask
/// [`parse`]. Where there is a result, it is the text of the host that
/// [`parse`] returns.
#[must_use]
pub fn canonical<'b>(input: &[u8], buf: &'b mut [u8; 256]) -> Option<&'b [u8]> {
    let name = input.strip_suffix(b".").unwrap_or(input);
    let out = buf.get_mut(..name.len())?;
    fold(name, out).ok()?;
    Some(out)
}

/// The host in a text, before a name is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written<'i> {
    /// An IPv6 literal, with or without brackets, which may be the mapped form
    /// of an IPv4 address.
    Address(IpAddr),
    /// Anything else: a name, an IPv4 literal or neither.
    Name(&'i [u8]),
}

/// Splits a text into its host and what stands behind the colon, if there is
/// one. Allocates nothing.
pub(crate) fn split(input: &[u8]) -> Result<(Written<'_>, Option<&[u8]>), Flaw> {
    if let Some(rest) = input.strip_prefix(b"[") {
        let end = position(rest, b']').ok_or(Flaw::Brackets)?;
        let (literal, rest) = rest.split_at(end);
        let port = match rest {
            [b']'] => None,
            [b']', b':', port @ ..] => Some(port),
            _ => return Err(Flaw::Brackets),
        };
        return Ok((Written::Address(ipv6(literal)?), port));
    }
    let Some(colon) = position(input, b':') else {
        return Ok((Written::Name(input), None));
    };
    let (name, rest) = input.split_at(colon);
    let port = rest.strip_prefix(b":").unwrap_or(rest);
    if position(port, b':').is_some() {
        return Ok((Written::Address(ipv6(input)?), None));
    }
    Ok((Written::Name(name), Some(port)))
}

fn read(input: &[u8]) -> Result<Target, Flaw> {
    let (written, port) = split(input)?;
    let port = port.map_or(Ok(None), port_text)?;
    match written {
        Written::Address(address) => Ok(literal_target(address, port)),
        Written::Name(name) => host(name, port),
    }
}

fn position(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|b| *b == byte)
}

fn literal_target(address: IpAddr, port: Option<String>) -> Target {
    Target {
        host: Host::Ip(address),
        absolute: false,
        port,
    }
}

fn port_text(port: &[u8]) -> Result<Option<String>, Flaw> {
    match port {
        [] => Ok(None),
        _ if port.len() > MAX_PORT => Err(Flaw::Port),
        _ if !port.iter().all(u8::is_ascii_graphic) => Err(Flaw::Port),
        _ => Ok(Some(port.iter().copied().map(char::from).collect())),
    }
}

fn ipv6(literal: &[u8]) -> Result<IpAddr, Flaw> {
    if position(literal, b'%').is_some() {
        return Err(Flaw::Zone);
    }
    let text = str::from_utf8(literal).map_err(|_| Flaw::Ipv6)?;
    let address: Ipv6Addr = text.parse().map_err(|_| Flaw::Ipv6)?;
    Ok(IpAddr::V6(address).to_canonical())
}

fn host(name: &[u8], port: Option<String>) -> Result<Target, Flaw> {
    if name.is_ascii() {
        // An ASCII label is what the DNS is asked, `xn--` or not: there is
        // nothing to convert, and an invalid one is a name like any other.
        return ascii_host(name, port);
    }
    if name.len() > MAX_UNICODE {
        return Err(Flaw::TooLong(name.len()));
    }
    str::from_utf8(name).map_err(|_| Flaw::Utf8)?;
    let ascii = idna::domain_to_ascii_cow(name, AsciiDenyList::EMPTY).map_err(|_| Flaw::Idn)?;
    // The mapping turns other scripts' digits and dots into ASCII ones, so
    // that an IPv4 literal may come out.
    ascii_host(ascii.as_bytes(), port)
}

fn ascii_host(input: &[u8], port: Option<String>) -> Result<Target, Flaw> {
    let (name, absolute) = match input.strip_suffix(b".") {
        Some(name) => (name, true),
        None => (input, false),
    };
    let mut buf = [0; MAX_NAME];
    let out = buf.get_mut(..name.len()).ok_or(Flaw::TooLong(name.len()))?;
    Ok(match fold(name, out)? {
        Some(address) => literal_target(IpAddr::V4(address), port),
        None => Target {
            host: Host::Dns(out.iter().copied().map(char::from).collect()),
            absolute,
            port,
        },
    })
}

/// Checks a name without a trailing dot and writes its lower-case form to
/// `out`, which is as long. Returns the address where it is an IPv4 literal.
fn fold(name: &[u8], out: &mut [u8]) -> Result<Option<Ipv4Addr>, Flaw> {
    if name.is_empty() {
        return Err(Flaw::Empty);
    }
    if name.len() > MAX_NAME {
        return Err(Flaw::TooLong(name.len()));
    }
    // Without a branch, so that it is done for many octets at once.
    let mut sound = true;
    for (byte, folded) in name.iter().zip(out.iter_mut()) {
        *folded = byte.to_ascii_lowercase();
        sound &= is_name_octet(*byte);
    }
    if !sound {
        let octet = name.iter().find(|byte| !is_name_octet(**byte));
        return Err(octet.map_or(Flaw::Empty, |octet| Flaw::Octet(*octet)));
    }
    let mut label = 0;
    for byte in out.iter() {
        match byte {
            b'.' => {
                check_label(label)?;
                label = 0;
            }
            b'-' if label == 0 => return Err(Flaw::Hyphen),
            _ => label += 1,
        }
    }
    check_label(label)?;
    let last = out.get(name.len() - label..).unwrap_or_default();
    if !is_number(last) {
        return Ok(None);
    }
    let text = str::from_utf8(out).map_err(|_| Flaw::Ipv4)?;
    text.parse().map(Some).map_err(|_| Flaw::Ipv4)
}

const fn is_name_octet(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
        || byte.wrapping_sub(b'0') < 10
        || byte == b'-'
        || byte == b'.'
        || byte == b'_'
}

fn check_label(length: usize) -> Result<(), Flaw> {
    match length {
        0 => Err(Flaw::EmptyLabel),
        1..=MAX_LABEL => Ok(()),
        _ => Err(Flaw::LongLabel(length)),
    }
}

/// Whether a lower-case label is a decimal number, or a hexadecimal one as
/// the C library's `inet_aton` reads it.
fn is_number(label: &[u8]) -> bool {
    match label {
        [b'0', b'x', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
        _ => label.iter().all(u8::is_ascii_digit),
    }
}
