//! Finding a session's key in a request, as bytes that a stranger sent.
//!
//! Nothing here allocates, and each byte is read a fixed number of times.

/// What a request carries under a session's name: values in their order, any
/// bytes, none of them empty. An empty value says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<I> {
    /// Values of cookies. Browsers send several of one name: those of another
    /// path or domain, a partitioned one, the backend's own.
    Cookies(I),
    /// Values of headers. Of several, somebody else could have added any.
    Headers(I),
}

/// Finds the values of a cookie in those of all `Cookie` headers of a request.
///
/// A header is a list of pairs between semicolons (RFC 6265 section 4.2), read
/// as servers do rather than as the grammar wants it: white space around a
/// pair is dropped, everything up to the first `=` is the name, which is
/// compared byte for byte, and one pair of double quotes around the value is
/// dropped. Quotes do not protect a semicolon. A pair without `=` has no name.
pub fn cookie_values<'a>(
    headers: impl IntoIterator<Item = &'a [u8]>,
    name: &[u8],
) -> impl Iterator<Item = &'a [u8]> {
    parts(headers, Some(name))
}

/// The values of a header: `values` are those of all headers with its name.
/// White space around a value is dropped.
pub fn header_values<'a>(
    values: impl IntoIterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    parts(values, None)
}

/// The values of a cookie, or where none is named, the headers themselves.
pub(super) fn parts<'a>(
    headers: impl IntoIterator<Item = &'a [u8]>,
    cookie: Option<&[u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    headers
        .into_iter()
        .flat_map(move |header| header.split(move |byte| cookie.is_some() && *byte == b';'))
        .filter_map(move |part| match cookie {
            Some(name) => value_of(part, name),
            None => Some(part.trim_ascii()),
        })
        .filter(|value| !value.is_empty())
}

/// Whether a `Set-Cookie` line sets the cookie of this name.
#[must_use]
pub fn sets_cookie(line: &[u8], name: &[u8]) -> bool {
    line.split(|byte| *byte == b';')
        .next()
        .is_some_and(|pair| value_of(pair, name).is_some())
}

fn value_of<'a>(pair: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = pair
        .trim_ascii()
        .strip_prefix(name)?
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let unquoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    Some(unquoted.unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(header: &[u8]) -> Vec<&[u8]> {
        cookie_values([header], b"sid").collect()
    }

    #[test]
    fn a_cookie_is_found_wherever_it_stands() {
        for header in [
            "sid=abc",
            "sid=abc; theme=dark",
            "theme=dark; sid=abc",
            "theme=dark;sid=abc;lang=de",
            "  sid=abc  ;",
            ";;; sid=abc ;;",
            "\tsid=abc\t",
            "sid= abc",
            "sid=\"abc\"",
            "flag; sid=abc",
            "=nameless; sid=abc",
            "other=\"a; sid=abc",
        ] {
            assert_eq!(find(header.as_bytes()), [b"abc"], "{header:?}");
        }
    }

    #[test]
    fn the_name_is_compared_exactly() {
        for header in [
            "",
            ";",
            "=",
            "sid",
            "sid;",
            "SID=abc",
            "Sid=abc",
            "sid2=abc",
            "xsid=abc",
            "sid =abc",
            "x sid=abc",
            "x=sid=abc",
            "sid:abc",
            "\u{e9}sid=abc",
            "\"sid\"=abc",
        ] {
            assert!(find(header.as_bytes()).is_empty(), "{header:?}");
        }
    }

    #[test]
    fn values_are_taken_as_they_are() {
        let cases: [(&[u8], &[u8]); 8] = [
            (b"sid=\"", b"\""),
            (b"sid=\"abc", b"\"abc"),
            (b"sid=a\"b\"c", b"a\"b\"c"),
            (b"sid=\"\"abc\"\"", b"\"abc\""),
            (b"sid=a=b==", b"a=b=="),
            (b"sid=a b", b"a b"),
            (b"sid=\xff\xfe\x00", b"\xff\xfe\x00"),
            (b"\xff=1; sid=abc; \xc3\x28=2", b"abc"),
        ];
        for (header, value) in cases {
            assert_eq!(find(header), [value], "{header:?}");
        }
    }

    #[test]
    fn an_empty_cookie_is_none() {
        for header in ["sid=", "sid=\"\"", "sid=  ; x=1", "sid=; sid=\"\""] {
            assert!(find(header.as_bytes()).is_empty(), "{header:?}");
        }
        assert_eq!(find(b"sid=; sid=a"), [b"a"]);
    }

    #[test]
    fn several_cookies_come_in_their_order() {
        assert_eq!(find(b"sid=a; sid=b"), [b"a", b"b"]);
        assert_eq!(find(b"sid=a; sid=a"), [b"a", b"a"]);
        let over = |headers: &[&'static [u8]]| -> Vec<&[u8]> {
            cookie_values(headers.iter().copied(), b"sid").collect()
        };
        assert!(over(&[]).is_empty());
        assert!(over(&[b"x=1", b"y=2"]).is_empty());
        assert_eq!(over(&[b"x=1", b"sid=abc", b""]), [b"abc"]);
        assert_eq!(over(&[b"sid=b", b"sid=a"]), [b"b", b"a"]);
        // A cookie does not go on in the next header.
        assert!(over(&[b"sid", b"=abc"]).is_empty());
    }

    #[test]
    fn long_headers_are_searched_to_their_end() {
        let mut header = b"a=1; ".repeat(64 * 1024 / 5);
        header.extend_from_slice(b"sid=abc");
        assert_eq!(find(&header), [b"abc"]);
        let value = vec![b'x'; 64 * 1024];
        let header = [b"sid=".as_slice(), &value].concat();
        assert_eq!(find(&header), [&value]);
    }

    #[test]
    fn headers_are_taken_whole_and_empty_ones_not_at_all() {
        let over = |values: &[&'static [u8]]| -> Vec<&[u8]> {
            header_values(values.iter().copied()).collect()
        };
        assert!(over(&[]).is_empty());
        assert!(over(&[b"", b" \t"]).is_empty());
        assert_eq!(over(&[b" abc\t"]), [b"abc"]);
        assert_eq!(over(&[b"abc", b"", b"abc"]), [b"abc", b"abc"]);
        assert_eq!(over(&[b"a;b=\xff"]), [b"a;b=\xff"]);
    }

    #[test]
    fn a_line_of_a_response_sets_the_cookie_that_it_begins_with() {
        for line in ["sid=1", " sid=\"1\"; path=/", "sid=; max-age=0"] {
            assert!(sets_cookie(line.as_bytes(), b"sid"), "{line:?}");
        }
        for line in ["", "sid", "x=1; sid=2", "Sid=1", "sid2=1"] {
            assert!(!sets_cookie(line.as_bytes(), b"sid"), "{line:?}");
        }
    }
}
