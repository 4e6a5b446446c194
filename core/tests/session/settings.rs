//! Which arguments of a session are accepted, and what is said of the others.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use dynamic_core::session::settings::{MAX_LIFETIME, MAX_NAME_LENGTH};
use dynamic_core::session::{
    AffinityTo, Arguments, FailurePolicy, Policy, SameSite, SecurePolicy, Settings, SettingsError,
};

fn arguments() -> Arguments<'static> {
    Arguments::new("sid", Policy::HashCookie)
}

fn error(arguments: &Arguments<'_>) -> String {
    let error: SettingsError = Settings::new(arguments).expect_err("a bad argument");
    let message = error.to_string();
    assert!(!message.contains('\n'), "one line: {message:?}");
    assert!(message.contains("accepted"), "{message}");
    message
}

#[test]
fn good_arguments_are_kept() {
    let settings = Settings::new(&Arguments {
        failure_policy: FailurePolicy::Return503,
        affinity_to: AffinityTo::Host,
        domain: Some(".Example.com"),
        path: Some("/a b/%20?x=1"),
        expiration: 0.5,
        max_age: 86_400.0,
        http_only: false,
        same_site: SameSite::None,
        secure_policy: SecurePolicy::Always,
        key_file: Some("/etc/keys"),
        ..Arguments::new("My.Affinity", Policy::Cookie)
    })
    .expect("good arguments");
    assert_eq!(settings.name(), "My.Affinity");
    assert_eq!(settings.policy(), Policy::Cookie);
    assert_eq!(settings.failure_policy(), FailurePolicy::Return503);
    assert_eq!(settings.affinity_to(), AffinityTo::Host);
    assert_eq!(settings.key_file(), Some("/etc/keys"));
    let cookie = settings.cookie();
    assert_eq!(cookie.domain.as_deref(), Some(".Example.com"));
    assert_eq!(cookie.path.as_deref(), Some("/a b/%20?x=1"));
    assert_eq!(cookie.expiration.map(|d| d.as_millis()), Some(500));
    assert_eq!(cookie.max_age.map(|d| d.as_secs()), Some(86_400));
    assert!(!cookie.http_only);
}

#[test]
fn zero_is_no_attribute_and_the_least_duration_is_one() {
    let settings = Settings::new(&arguments()).expect("good arguments");
    assert_eq!(settings.cookie().expiration, None);
    assert_eq!(settings.cookie().max_age, None);
    let settings = Settings::new(&Arguments {
        expiration: f64::MIN_POSITIVE,
        max_age: -0.0,
        ..arguments()
    })
    .expect("good arguments");
    assert!(settings.cookie().expiration.is_some());
    assert_eq!(settings.cookie().max_age, None);
}

#[test]
fn a_name_is_a_token() {
    let longest = "n".repeat(MAX_NAME_LENGTH);
    for name in ["a", "X-Session", "!#$%&'*+-.^_`|~09", &longest] {
        for policy in Policy::ALL {
            assert!(
                Settings::new(&Arguments::new(name, *policy)).is_ok(),
                "{name}"
            );
        }
    }
    let long = "n".repeat(MAX_NAME_LENGTH + 1);
    for name in [
        "", " ", "a b", "a;b", "a=b", "a,b", "a:b", "a\"b", "a/b", "a\tb", "a\r\nb", "a\0b",
        "s\u{ed}d", "(a)", "{a}", "<a>", "a@b", "a\\b", "a?b", "[a]", &long,
    ] {
        for policy in Policy::ALL {
            let message = error(&Arguments::new(name, *policy));
            assert!(message.starts_with(&format!("name {name:?}")), "{message}");
        }
    }
}

#[test]
fn a_header_that_http_uses_is_refused_for_the_header_policy_only() {
    for name in [
        "Host",
        "Content-Length",
        "Set-Cookie",
        "cookie",
        "TRANSFER-ENCODING",
        "connection",
        "cache-control",
        "vary",
        "x-varnish",
    ] {
        let message = error(&Arguments::new(name, Policy::CustomHeader));
        assert!(
            message.contains(name) && message.contains("CUSTOM_HEADER"),
            "{message}"
        );
        assert!(Settings::new(&Arguments::new(name, Policy::Cookie)).is_ok());
    }
}

#[test]
fn a_name_prefix_asks_for_its_attributes() {
    let secure = Arguments {
        secure_policy: SecurePolicy::Always,
        ..Arguments::new("__Host-sid", Policy::Cookie)
    };
    assert!(Settings::new(&secure).is_ok());
    assert!(
        Settings::new(&Arguments {
            name: "__secure-sid",
            ..secure
        })
        .is_ok()
    );
    for bad in [
        Arguments {
            secure_policy: SecurePolicy::None,
            ..secure
        },
        Arguments {
            domain: Some("example.com"),
            ..secure
        },
        Arguments {
            path: Some("/app"),
            ..secure
        },
        Arguments {
            path: None,
            ..secure
        },
        Arguments {
            name: "__SECURE-sid",
            secure_policy: SecurePolicy::None,
            ..secure
        },
    ] {
        assert!(error(&bad).starts_with(&format!("name {:?}", bad.name)));
    }
    // A header has no such prefixes.
    assert!(Settings::new(&Arguments::new("__Host-sid", Policy::CustomHeader)).is_ok());
}

#[test]
fn a_domain_is_a_domain_name() {
    for domain in [
        "localhost",
        "example.com",
        ".example.com",
        "a_b.example",
        "xn--bcher-kva.example",
    ] {
        assert!(
            Settings::new(&Arguments {
                domain: Some(domain),
                ..arguments()
            })
            .is_ok(),
            "{domain}"
        );
    }
    let label = "l".repeat(64);
    let long = "l.".repeat(126) + "ll";
    for domain in [
        "",
        ".",
        "..example.com",
        "example..com",
        "example.com.",
        "a b",
        "a;b",
        "a\r\nb",
        "b\u{fc}cher.example",
        "example.com:80",
        "a/b",
        &label,
        &long,
    ] {
        let message = error(&Arguments {
            domain: Some(domain),
            ..arguments()
        });
        assert!(
            message.starts_with(&format!("domain {domain:?}")),
            "{message}"
        );
    }
}

#[test]
fn a_path_begins_with_a_slash_and_ends_no_attribute() {
    for path in [
        "", "app", " /", "/a;b", "/a\nb", "/a\0", "/\u{fc}", "/a ", "/\x7f",
    ] {
        let message = error(&Arguments {
            path: Some(path),
            ..arguments()
        });
        assert!(message.starts_with(&format!("path {path:?}")), "{message}");
    }
}

#[test]
fn durations_are_finite_and_not_negative() {
    let longest = MAX_LIFETIME.as_secs_f64();
    assert!(
        Settings::new(&Arguments {
            max_age: longest,
            expiration: longest,
            ..arguments()
        })
        .is_ok()
    );
    for value in [
        -1.0,
        -0.001,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e300,
        longest + 1.0,
    ] {
        let message = error(&Arguments {
            max_age: value,
            ..arguments()
        });
        assert!(
            message.starts_with(&format!("max_age {value}")),
            "{message}"
        );
        let message = error(&Arguments {
            expiration: value,
            ..arguments()
        });
        assert!(
            message.starts_with(&format!("expiration {value}")),
            "{message}"
        );
    }
}

#[test]
fn same_site_none_needs_a_secure_cookie() {
    for policy in Policy::ALL {
        for (secure_policy, good) in [
            (SecurePolicy::None, false),
            (SecurePolicy::Always, true),
            (SecurePolicy::SameAsRequest, true),
        ] {
            let arguments = Arguments {
                same_site: SameSite::None,
                secure_policy,
                ..Arguments::new("sid", *policy)
            };
            assert_eq!(
                Settings::new(&arguments).is_ok(),
                good,
                "{policy} {secure_policy}"
            );
        }
    }
    let message = error(&Arguments {
        same_site: SameSite::None,
        ..arguments()
    });
    assert!(message.starts_with("same_site NONE"), "{message}");
}

#[test]
fn a_key_file_is_for_policies_that_seal() {
    for policy in Policy::ALL {
        let with = Arguments {
            key_file: Some("/etc/keys"),
            ..Arguments::new("sid", *policy)
        };
        assert_eq!(Settings::new(&with).is_ok(), policy.is_sealed());
    }
    let message = error(&Arguments {
        key_file: Some("/etc/keys"),
        ..arguments()
    });
    assert!(
        message.contains("/etc/keys") && message.contains("HASH_COOKIE"),
        "{message}"
    );
    error(&Arguments {
        key_file: Some(""),
        ..Arguments::new("sid", Policy::Cookie)
    });
}
