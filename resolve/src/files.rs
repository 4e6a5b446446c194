//! The system's files, read again when they change.

use std::collections::HashSet;
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::hosts::Hosts;
use crate::nsswitch::HostSources;
use crate::resolv_conf::{Environment, ResolvConf};

use crate::regular_file::RegularFile;

/// No larger file is read, in octets.
const MAX_SIZE: u64 = 16 << 20;

/// So many notices are given in all.
const MAX_REPORTED: usize = 100;

/// A change of a file this young may be followed by one that looks the same:
/// some file systems count time in steps of 2 s.
const UNSETTLED: Duration = Duration::from_secs(3);

/// The files that say how this system resolves names. Clones share what was
/// read.
///
/// A file that is missing, not a regular file or larger than 16 MiB counts as
/// empty; a change is seen at the next lookup that comes
/// [`recheck`](Self::recheck) after the last look.
#[derive(Clone, Debug)]
pub struct SystemFiles {
    resolv_conf: Arc<Watched<ResolvConf>>,
    hosts: Arc<Watched<Hosts>>,
    nsswitch: Arc<Watched<HostSources>>,
    reported: Arc<Mutex<HashSet<String>>>,
    #[cfg(feature = "tls")]
    trust: Arc<crate::tls::Trust>,
}

impl Default for SystemFiles {
    fn default() -> Self {
        Self::new("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
            .environment(Environment::of_process())
    }
}

impl SystemFiles {
    /// Files at these places, looked at once a second at most, without regard
    /// to the environment.
    pub fn new(
        resolv_conf: impl Into<PathBuf>,
        hosts: impl Into<PathBuf>,
        nsswitch: impl Into<PathBuf>,
    ) -> Self {
        let every = Duration::from_secs(1);
        Self {
            resolv_conf: Arc::new(Watched::new(resolv_conf, every, ResolvConf::parse)),
            hosts: Arc::new(Watched::new(hosts, every, Hosts::parse)),
            nsswitch: Arc::new(Watched::new(nsswitch, every, HostSources::parse)),
            reported: Arc::default(),
            #[cfg(feature = "tls")]
            trust: Arc::default(),
        }
    }

    /// Looks at the files this often at most; 0: at each lookup.
    #[must_use]
    pub fn recheck(mut self, every: Duration) -> Self {
        self.resolv_conf = Arc::new(self.resolv_conf.every(every));
        self.hosts = Arc::new(self.hosts.every(every));
        self.nsswitch = Arc::new(self.nsswitch.every(every));
        self
    }

    /// Applies environment variables to what `resolv.conf` says.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        let Watched { path, every, .. } = &*self.resolv_conf;
        let parse = move |text: &str| ResolvConf::parse(text).with_environment(&environment);
        self.resolv_conf = Arc::new(Watched::new(path, *every, parse));
        self
    }

    /// The certificate authorities to trust for TLS, a PEM file that takes the
    /// place of the system's. Without it, `SSL_CERT_FILE` and `SSL_CERT_DIR`
    /// are honoured.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn certificates(mut self, file: impl Into<PathBuf>) -> Self {
        self.trust = Arc::new(crate::tls::Trust::new(file.into()));
        self
    }

    /// What an operator should know about the files, one line of visible ASCII
    /// each, and each one once: a file that is there and cannot be read, and
    /// sources in `nsswitch.conf` that are not asked.
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        let sources = self.nsswitch();
        self.resolv_conf();
        self.hosts();
        let mut notices: Vec<String> = [
            self.resolv_conf.notice(),
            self.hosts.notice(),
            self.nsswitch.notice(),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !sources.others.is_empty() {
            notices.push(format!(
                "{}: hosts: only files and dns are asked, not {}",
                printable(&self.nsswitch.path),
                sources.others.join(", ")
            ));
        }
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        notices.retain(|notice| reported.len() < MAX_REPORTED && reported.insert(notice.clone()));
        notices
    }

    pub(crate) fn resolv_conf(&self) -> Arc<ResolvConf> {
        self.resolv_conf.get()
    }

    pub(crate) fn hosts(&self) -> Arc<Hosts> {
        self.hosts.get()
    }

    pub(crate) fn nsswitch(&self) -> Arc<HostSources> {
        self.nsswitch.get()
    }

    #[cfg(feature = "tls")]
    pub(crate) fn trust(&self) -> Arc<crate::tls::Trust> {
        Arc::clone(&self.trust)
    }
}

fn printable(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .map(|it| if it.is_ascii_graphic() { it } else { '?' })
        .collect()
}

/// A file and what was read from it.
struct Watched<T> {
    path: PathBuf,
    every: Duration,
    parse: Parse<T>,
    seen: Mutex<Option<Seen<T>>>,
}

type Parse<T> = Arc<dyn Fn(&str) -> T + Send + Sync>;

impl<T: fmt::Debug> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("path", &self.path)
            .field("every", &self.every)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Seen<T> {
    at: Instant,
    /// `None` where there was no file, or it may have changed since unseen.
    stamp: Option<Stamp>,
    text: String,
    /// Why there is no text, unless the file is missing.
    error: Option<String>,
    value: Arc<T>,
}

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl<T> Watched<T> {
    fn new(
        path: impl Into<PathBuf>,
        every: Duration,
        parse: impl Fn(&str) -> T + Send + Sync + 'static,
    ) -> Self {
        Self {
            path: path.into(),
            every,
            parse: Arc::new(parse),
            seen: Mutex::new(None),
        }
    }

    fn every(&self, every: Duration) -> Self {
        Self {
            path: self.path.clone(),
            every,
            parse: Arc::clone(&self.parse),
            seen: Mutex::new(None),
        }
    }

    /// What the file says, the same `Arc` as long as its text is the same.
    fn get(&self) -> Arc<T> {
        let now = Instant::now();
        let mut seen = self.seen();
        if let Some(seen) = seen.as_mut() {
            if now.saturating_duration_since(seen.at) < self.every {
                return Arc::clone(&seen.value);
            }
            seen.at = now;
            let stamp = std::fs::metadata(&self.path)
                .ok()
                .map(|metadata| Stamp::of(&metadata));
            if stamp.is_some() && stamp == seen.stamp {
                return Arc::clone(&seen.value);
            }
        }
        let (text, stamp, error) = match read(&self.path) {
            Ok((text, stamp)) => (text, stamp, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), None, None),
            Err(error) => (String::new(), None, Some(error.to_string())),
        };
        match seen.as_mut() {
            Some(seen) if seen.text == text => {
                seen.stamp = stamp;
                seen.error = error;
                Arc::clone(&seen.value)
            }
            _ => {
                let value = Arc::new((self.parse)(&text));
                *seen = Some(Seen {
                    at: now,
                    stamp,
                    text,
                    error,
                    value: Arc::clone(&value),
                });
                value
            }
        }
    }

    /// Why the file could not be read the last time.
    fn notice(&self) -> Option<String> {
        let seen = self.seen();
        let error = seen.as_ref()?.error.as_ref()?;
        Some(format!(
            "{}: {error}: taken as empty",
            printable(&self.path)
        ))
    }

    fn seen(&self) -> MutexGuard<'_, Option<Seen<T>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> io::Result<(String, Option<Stamp>)> {
    let file = RegularFile::open(path)?;
    let settled = file.metadata().modified().is_ok_and(|at| {
        SystemTime::now()
            .duration_since(at)
            .is_ok_and(|age| age > UNSETTLED)
    });
    let stamp = settled.then(|| Stamp::of(file.metadata()));
    let octets = file.read(MAX_SIZE)?;
    Ok((String::from_utf8_lossy(&octets).into_owned(), stamp))
}

#[cfg(test)]
mod tests;
