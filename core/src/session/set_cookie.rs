//! The `Set-Cookie` line of a session.

use std::time::{Duration, SystemTime};

use httpdate::HttpDate;

use super::policy::SameSite;
use super::settings::Settings;

/// The last second that an IMF-fixdate can write: 9999-12-31 23:59:59.
const LAST_SECOND: u64 = 253_402_300_799;

/// The value of `Set-Cookie` (RFC 6265 section 4.1) for a session key.
///
/// Attributes come in this order, each only where it is configured: `expires`,
/// `max-age`, `domain`, `path`, `secure`, `samesite`, `httponly`,
/// `partitioned`; names and words in lower case, `; ` between them. `expires` is `now` and the
/// expiration as an IMF-fixdate (RFC 9110 section 5.6.7), rounded up to a
/// second. `now` is the time since 1970-01-01 00:00 UTC, `https` whether the
/// request came over HTTPS.
#[must_use]
pub fn set_cookie(settings: &Settings, value: &str, now: Duration, https: bool) -> String {
    let cookie = settings.cookie();
    let mut line = format!("{}={value}", settings.name());
    let mut attribute = |name: &str, value: &str| {
        line.push_str("; ");
        line.push_str(name);
        if !value.is_empty() {
            line.push('=');
            line.push_str(value);
        }
    };
    if let Some(expiration) = cookie.expiration {
        attribute("expires", &imf_fixdate(now.saturating_add(expiration)));
    }
    if let Some(max_age) = cookie.max_age {
        attribute("max-age", &whole_seconds(max_age).to_string());
    }
    if let Some(domain) = &cookie.domain {
        attribute("domain", domain);
    }
    if let Some(path) = &cookie.path {
        attribute("path", path);
    }
    if cookie.is_secure(https) {
        attribute("secure", "");
    }
    match cookie.same_site {
        SameSite::Unspecified => {}
        SameSite::None => attribute("samesite", "none"),
        SameSite::Lax => attribute("samesite", "lax"),
        SameSite::Strict => attribute("samesite", "strict"),
    }
    if cookie.http_only {
        attribute("httponly", "");
    }
    if cookie.partitioned {
        attribute("partitioned", "");
    }
    line
}

/// Rounded up, since `max-age=0` would delete the cookie.
fn whole_seconds(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_add(u64::from(duration.subsec_nanos() > 0))
}

fn imf_fixdate(since_epoch: Duration) -> String {
    let second = Duration::from_secs(whole_seconds(since_epoch).min(LAST_SECOND));
    SystemTime::UNIX_EPOCH
        .checked_add(second)
        .map(|time| HttpDate::from(time).to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::policy::{Policy, SecurePolicy};
    use super::super::settings::Arguments;
    use super::*;

    /// 2001-09-09 01:46:40 UTC, a Sunday.
    const NOW: Duration = Duration::from_secs(1_000_000_000);

    fn line(arguments: &Arguments<'_>, https: bool) -> String {
        let settings = Settings::new(arguments).unwrap();
        set_cookie(&settings, "0123456789abcdef", NOW, https)
    }

    #[test]
    fn the_defaults_give_path_and_httponly() {
        assert_eq!(
            line(&Arguments::new("sid", Policy::HashCookie), false),
            "sid=0123456789abcdef; path=/; httponly"
        );
    }

    #[test]
    fn every_attribute_has_its_place() {
        let all = Arguments {
            domain: Some("example.com"),
            path: Some("/app"),
            expiration: 90.0,
            max_age: 60.0,
            same_site: SameSite::Strict,
            secure_policy: SecurePolicy::Always,
            ..Arguments::new("sid", Policy::HashCookie)
        };
        assert_eq!(
            line(&all, false),
            "sid=0123456789abcdef; expires=Sun, 09 Sep 2001 01:48:10 GMT; max-age=60; \
             domain=example.com; path=/app; secure; samesite=strict; httponly"
        );
    }

    #[test]
    fn what_is_not_configured_is_not_sent() {
        let none = Arguments {
            path: None,
            http_only: false,
            ..Arguments::new("sid", Policy::HashCookie)
        };
        assert_eq!(line(&none, true), "sid=0123456789abcdef");
    }

    #[test]
    fn secure_may_follow_the_request() {
        let same = Arguments {
            same_site: SameSite::Lax,
            secure_policy: SecurePolicy::SameAsRequest,
            ..Arguments::new("sid", Policy::HashCookie)
        };
        assert_eq!(
            line(&same, true),
            "sid=0123456789abcdef; path=/; secure; samesite=lax; httponly"
        );
        assert_eq!(
            line(&same, false),
            "sid=0123456789abcdef; path=/; samesite=lax; httponly"
        );
    }

    #[test]
    fn a_cookie_that_browsers_refuse_without_secure_has_it_on_any_request() {
        let base = |name| Arguments {
            secure_policy: SecurePolicy::SameAsRequest,
            ..Arguments::new(name, Policy::HashCookie)
        };
        let cases = [
            (
                Arguments {
                    same_site: SameSite::None,
                    ..base("sid")
                },
                "sid=0123456789abcdef; path=/; secure; samesite=none; httponly",
            ),
            (
                Arguments {
                    partitioned: true,
                    ..base("sid")
                },
                "sid=0123456789abcdef; path=/; secure; httponly; partitioned",
            ),
            (
                base("__Host-sid"),
                "__Host-sid=0123456789abcdef; path=/; secure; httponly",
            ),
            (
                base("__secure-sid"),
                "__secure-sid=0123456789abcdef; path=/; secure; httponly",
            ),
        ];
        for (arguments, expected) in cases {
            for https in [false, true] {
                assert_eq!(line(&arguments, https), expected);
            }
        }
    }

    #[test]
    fn parts_of_a_second_are_rounded_up() {
        let short = Arguments {
            expiration: 0.1,
            max_age: 0.1,
            ..Arguments::new("sid", Policy::HashCookie)
        };
        assert_eq!(
            line(&short, false),
            "sid=0123456789abcdef; expires=Sun, 09 Sep 2001 01:46:41 GMT; max-age=1; path=/; httponly"
        );
    }

    #[test]
    fn dates_end_with_the_year_9999() {
        assert_eq!(imf_fixdate(Duration::ZERO), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(imf_fixdate(Duration::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
