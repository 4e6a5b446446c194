//! Finding a session's key in a request, as bytes that a stranger sent.
//!
//! Nothing here allocates, and each byte is read a fixed number of times.

/// What a request carries under a session's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// Nothing.
    Missing,
    /// One value, which may be empty or junk.
    One(&'a [u8]),
    /// More than one value, be they equal or not: whichever were believed,
    /// somebody else could have added it.
    Repeated,
}

impl<'a> Found<'a> {
    /// Counts one more value.
    fn and(self, value: &'a [u8]) -> Self {
        match self {
            Found::Missing => Found::One(value),
            Found::One(_) | Found::Repeated => Found::Repeated,
        }
    }
}

/// Finds a cookie by its name in the values of all `Cookie` headers of a
/// request.
///
/// A header is a list of pairs between semicolons (RFC 6265 section 4.2), read
/// as servers do rather than as the grammar wants it: white space around a
/// pair is dropped, everything up to the first `=` is the name, which is
/// compared byte for byte, and one pair of double quotes around the value is
/// dropped. Quotes do not protect a semicolon. A pair without `=` has no name.
#[must_use]
pub fn find_cookie<'a>(headers: impl IntoIterator<Item = &'a [u8]>, name: &[u8]) -> Found<'a> {
    headers
        .into_iter()
        .flat_map(|header| header.split(|byte| *byte == b';'))
        .filter_map(|pair| value_of(pair, name))
        .fold(Found::Missing, Found::and)
}

/// Finds the value of a header that may be sent only once: `values` are those
/// of all headers with its name. White space around the value is dropped.
#[must_use]
pub fn find_header<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Found<'a> {
    values
        .into_iter()
        .map(<[u8]>::trim_ascii)
        .fold(Found::Missing, Found::and)
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

    fn find(header: &[u8]) -> Found<'_> {
        find_cookie([header], b"sid")
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
            assert_eq!(find(header.as_bytes()), Found::One(b"abc"), "{header:?}");
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
            assert_eq!(find(header.as_bytes()), Found::Missing, "{header:?}");
        }
    }

    #[test]
    fn values_are_taken_as_they_are() {
        let cases: [(&[u8], &[u8]); 10] = [
            (b"sid=", b""),
            (b"sid=\"\"", b""),
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
            assert_eq!(find(header), Found::One(value), "{header:?}");
        }
    }

    #[test]
    fn a_repeated_cookie_is_reported_even_if_the_values_agree() {
        assert_eq!(find(b"sid=a; sid=b"), Found::Repeated);
        assert_eq!(find(b"sid=a; sid=a"), Found::Repeated);
        assert_eq!(find(b"sid=a; x=1; sid="), Found::Repeated);
        assert_eq!(find(b"sid=a; sid=a; sid=a"), Found::Repeated);
    }

    #[test]
    fn all_headers_count() {
        let over = |headers: &[&'static [u8]]| find_cookie(headers.iter().copied(), b"sid");
        assert_eq!(over(&[]), Found::Missing);
        assert_eq!(over(&[b"x=1", b"y=2"]), Found::Missing);
        assert_eq!(over(&[b"x=1", b"sid=abc", b""]), Found::One(b"abc"));
        assert_eq!(over(&[b"sid=abc", b"sid=abc"]), Found::Repeated);
        // A cookie does not go on in the next header.
        assert_eq!(over(&[b"sid", b"=abc"]), Found::Missing);
    }

    #[test]
    fn long_headers_are_searched_to_their_end() {
        let mut header = b"a=1; ".repeat(64 * 1024 / 5);
        header.extend_from_slice(b"sid=abc");
        assert_eq!(find(&header), Found::One(b"abc"));
        let value = vec![b'x'; 64 * 1024];
        let header = [b"sid=".as_slice(), &value].concat();
        assert_eq!(find(&header), Found::One(&value));
    }

    #[test]
    fn a_header_of_ones_own_is_taken_once() {
        let over = |values: &[&'static [u8]]| find_header(values.iter().copied());
        assert_eq!(over(&[]), Found::Missing);
        assert_eq!(over(&[b""]), Found::One(b""));
        assert_eq!(over(&[b" abc\t"]), Found::One(b"abc"));
        assert_eq!(over(&[b"abc", b"abc"]), Found::Repeated);
        assert_eq!(over(&[b"\xff"]), Found::One(b"\xff"));
    }
}
