//! Lists and bitmaps of buckets.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use dynamic_core::buckets::BucketSet;
use dynamic_core::buckets::set::{BUCKETS, BitmapError, ListError};
use proptest::prelude::*;

fn set(text: &str) -> BucketSet {
    BucketSet::parse_list(text).expect("a good list")
}

fn list(text: &str) -> Result<Vec<u8>, ListError> {
    BucketSet::parse_list(text).map(|set| set.iter().collect())
}

#[test]
fn lists_name_buckets_and_ranges() {
    assert_eq!(list("0"), Ok(vec![0]));
    assert_eq!(list("255"), Ok(vec![255]));
    assert_eq!(list("7-7"), Ok(vec![7]));
    assert_eq!(
        list("0,5,250-255"),
        Ok(vec![0, 5, 250, 251, 252, 253, 254, 255])
    );
    assert_eq!(list(" 9 , 3 - 5 "), Ok(vec![3, 4, 5, 9]));
    assert_eq!(list("007"), Ok(vec![7]));
    assert_eq!(BucketSet::parse_list("0-255"), Ok(BucketSet::ALL));
}

#[test]
fn bad_lists_say_what_is_wrong() {
    let part = |part: &str| ListError::Part {
        part: part.to_owned(),
    };
    let none = |bucket: &str| ListError::NoSuchBucket {
        bucket: bucket.to_owned(),
    };
    let cases = [
        ("", ListError::Empty),
        (" \t", ListError::Empty),
        (",", part("")),
        ("1,", part("")),
        ("1,,2", part("")),
        ("a", part("a")),
        ("1-2-3", part("1-2-3")),
        ("-5", part("-5")),
        ("5-", part("5-")),
        ("+5", part("+5")),
        ("1 2", part("1 2")),
        ("0x10", part("0x10")),
        ("1;2", part("1;2")),
        ("1.5", part("1.5")),
        ("\u{661}", part("\u{661}")),
        ("256", none("256")),
        ("0-256", none("256")),
        ("99999999999999999999", none("99999999999999999999")),
        ("9-3", ListError::Reversed { first: 9, last: 3 }),
        ("3,3", ListError::Twice { bucket: 3 }),
        ("0-10,10-20", ListError::Twice { bucket: 10 }),
    ];
    for (text, error) in cases {
        assert_eq!(list(text), Err(error.clone()), "{text:?}");
        assert!(error.to_string().contains("accepted"));
    }
    assert_eq!(
        list("256").unwrap_err().to_string(),
        "bucket 256, accepted are 0 to 255"
    );
}

#[test]
fn bitmaps_agree_with_lists() {
    let half = "f".repeat(32) + &"0".repeat(32);
    assert_eq!(BucketSet::parse_bitmap(&half), Ok(set("0-127")));
    assert_eq!(BucketSet::parse_list("0-127").unwrap().to_string(), half);
    let colons = ["ff"; 16].join(":") + ":" + &["00"; 16].join(":");
    assert_eq!(BucketSet::parse_bitmap(&colons), Ok(set("0-127")));
    let lowest = format!("01{}80", "0".repeat(60));
    assert_eq!(BucketSet::parse_bitmap(&lowest), Ok(set("0,255")));
    let upper = "A0".to_owned() + &"0".repeat(62);
    assert_eq!(BucketSet::parse_bitmap(&upper), Ok(set("5,7")));
    assert_eq!(
        BucketSet::parse_bitmap(&"0".repeat(64)),
        Ok(BucketSet::NONE)
    );
}

#[test]
fn bad_bitmaps_say_what_is_wrong() {
    for digits in [0, 1, 62, 63, 65, 128, 1000] {
        assert_eq!(
            BucketSet::parse_bitmap(&"f".repeat(digits)),
            Err(BitmapError::Length { digits })
        );
    }
    let good = "f".repeat(62);
    let cases = [
        (format!(":{good}ff"), ':', 1),
        (format!("ff::{good}"), ':', 4),
        (format!("f:f{good}"), ':', 2),
        (format!("{good}ff:"), ':', 65),
        (format!("{good}fg"), 'g', 64),
        (format!("{good} f"), ' ', 63),
        (format!("0x{good}"), 'x', 2),
        (format!("f\u{e9}{good}"), '\u{e9}', 2),
    ];
    for (text, found, position) in cases {
        assert_eq!(
            BucketSet::parse_bitmap(&text),
            Err(BitmapError::Character { found, position }),
            "{text}"
        );
    }
}

#[test]
fn a_share_is_the_first_buckets() {
    assert_eq!(BucketSet::share(0), Some(BucketSet::NONE));
    assert_eq!(BucketSet::share(128), BucketSet::parse_list("0-127").ok());
    assert_eq!(BucketSet::share(256), Some(BucketSet::ALL));
    assert_eq!(BucketSet::share(257), None);
    assert_eq!(BucketSet::share(u16::MAX), None);
    for buckets in 0..=BUCKETS {
        let share = BucketSet::share(buckets).unwrap();
        assert_eq!(share.len(), usize::from(buckets));
        assert_eq!(share.is_empty(), buckets == 0);
    }
}

proptest! {
    #[test]
    fn what_is_shown_can_be_read(octets in any::<[u8; 32]>()) {
        let set = BucketSet::from_octets(octets);
        prop_assert_eq!(BucketSet::parse_bitmap(&set.to_string()), Ok(set));
        let list: Vec<String> = set.iter().map(|bucket| bucket.to_string()).collect();
        if !set.is_empty() {
            prop_assert_eq!(BucketSet::parse_list(&list.join(",")), Ok(set));
        }
        prop_assert_eq!(set.len(), list.len());
        prop_assert_eq!(set.octets(), &octets);
    }

    #[test]
    fn sets_are_joined_and_cut(a in any::<[u8; 32]>(), b in any::<[u8; 32]>()) {
        let (a, b) = (BucketSet::from_octets(a), BucketSet::from_octets(b));
        for bucket in 0..=u8::MAX {
            let (in_a, in_b) = (a.contains(bucket), b.contains(bucket));
            prop_assert_eq!(a.union(&b).contains(bucket), in_a || in_b);
            prop_assert_eq!(a.intersection(&b).contains(bucket), in_a && in_b);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}", list in "[0-9, -]{0,40}") {
        let _ = (BucketSet::parse_list(&text), BucketSet::parse_bitmap(&text));
        if let Ok(set) = BucketSet::parse_list(&list) {
            prop_assert!(!set.is_empty());
        }
    }
}
