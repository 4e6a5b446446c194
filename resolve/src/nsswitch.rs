//! The order of the hosts file and DNS (nsswitch.conf(5)).

use crate::settings::Namespace;

/// The longest name of a source that is repeated in a message.
const MAX_NAME: usize = 40;

/// The most sources that count in one line.
const MAX_SOURCES: usize = 16;

/// Where the system looks for host names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostSources {
    /// At least one, the first one first.
    pub(crate) order: Vec<Namespace>,
    /// What else is named there, in visible ASCII: sources of the C library
    /// that this resolver does not have.
    pub(crate) others: Vec<String>,
}

/// The C library's order without a file.
impl Default for HostSources {
    fn default() -> Self {
        Self {
            order: vec![Namespace::LocalNames, Namespace::Dns],
            others: Vec::new(),
        }
    }
}

impl HostSources {
    /// Reads the text of an `nsswitch.conf` file; its first `hosts` line
    /// counts.
    ///
    /// Nothing in it is an error. Actions in brackets are passed over: a name
    /// that one source does not have is looked for in the next one. A line
    /// without `files` and `dns` leaves the usual order.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        let line = text.lines().find_map(|line| {
            let line = line.split('#').next().unwrap_or_default();
            line.trim_start()
                .strip_prefix("hosts")?
                .trim_start()
                .strip_prefix(':')
        });
        let mut found = Self {
            order: Vec::new(),
            others: Vec::new(),
        };
        for source in without_actions(line.unwrap_or_default())
            .split_ascii_whitespace()
            .take(MAX_SOURCES)
        {
            match source {
                "files" => found.add(Namespace::LocalNames),
                "dns" => found.add(Namespace::Dns),
                other => found.others.push(printable(other)),
            }
        }
        if found.order.is_empty() {
            found.order = Self::default().order;
        }
        found
    }

    fn add(&mut self, namespace: Namespace) {
        if !self.order.contains(&namespace) {
            self.order.push(namespace);
        }
    }
}

/// A line without what is in brackets, which may hold blanks.
fn without_actions(line: &str) -> String {
    let mut inside = false;
    line.chars()
        .filter_map(|character| match character {
            '[' => {
                inside = true;
                None
            }
            ']' => {
                inside = false;
                Some(' ')
            }
            other => (!inside).then_some(other),
        })
        .collect()
}

fn printable(name: &str) -> String {
    name.chars()
        .take(MAX_NAME)
        .map(|it| if it.is_ascii_graphic() { it } else { '?' })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILES: Namespace = Namespace::LocalNames;
    const DNS: Namespace = Namespace::Dns;

    #[test]
    fn the_order_of_files_and_dns_counts_and_the_rest_is_named() {
        let cases: [(&str, &[Namespace], &[&str]); 9] = [
            ("", &[FILES, DNS], &[]),
            ("passwd: files\nhosts: files dns\n", &[FILES, DNS], &[]),
            ("hosts:\tdns files # hosts: files\n", &[DNS, FILES], &[]),
            ("  hosts : dns\n", &[DNS], &[]),
            ("#hosts: dns\nhosts: files\nhosts: dns\n", &[FILES], &[]),
            (
                "hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n",
                &[FILES, DNS],
                &["mymachines", "resolve", "myhostname"],
            ),
            (
                "hosts: files mdns4_minimal [NOTFOUND=return]dns files\n",
                &[FILES, DNS],
                &["mdns4_minimal"],
            ),
            ("hosts: ldap [ NOTFOUND=return\n", &[FILES, DNS], &["ldap"]),
            ("hosts: l\u{e4}\u{1b}p dns\n", &[DNS], &["l??p"]),
        ];
        for (text, order, others) in cases {
            let sources = HostSources::parse(text);
            assert_eq!(sources.order, order, "{text}");
            assert_eq!(sources.others, others, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_file_gives_an_order_and_short_names(
            text in "(hosts: ?)?(files|dns|[a-z]{1,60}|\\[.{0,9}\\]|.{0,20}| ){0,30}"
        ) {
            let sources = HostSources::parse(&text);
            prop_assert!((1..=2).contains(&sources.order.len()));
            prop_assert!(sources.others.len() <= MAX_SOURCES);
            for other in &sources.others {
                prop_assert!(other.len() <= MAX_NAME);
                prop_assert!(other.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
