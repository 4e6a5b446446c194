//! The Pearson hash of RFC 3074 (after P. K. Pearson, "Fast Hashing of
//! Variable-Length Text Strings", CACM 33(6), 1990).

/// Bytes of a key that count.
pub const KEY_LENGTH: usize = 16;

/// The mixing table of RFC 3074 section 6: a permutation of all byte values.
#[rustfmt::skip]
const MIXING: [u8; 256] = [
    251, 175, 119, 215,  81,  14,  79, 191, 103,  49, 181, 143, 186, 157,   0, 232,
     31,  32,  55,  60, 152,  58,  17, 237, 174,  70, 160, 144, 220,  90,  57, 223,
     59,   3,  18, 140, 111, 166, 203, 196, 134, 243, 124,  95, 222, 179, 197,  65,
    180,  48,  36,  15, 107,  46, 233, 130, 165,  30, 123, 161, 209,  23,  97,  16,
     40,  91, 219,  61, 100,  10, 210, 109, 250, 127,  22, 138,  29, 108, 244,  67,
    207,   9, 178, 204,  74,  98, 126, 249, 167, 116,  34,  77, 193, 200, 121,   5,
     20, 113,  71,  35, 128,  13, 182,  94,  25, 226, 227, 199,  75,  27,  41, 245,
    230, 224,  43, 225, 177,  26, 155, 150, 212, 142, 218, 115, 241,  73,  88, 105,
     39, 114,  62, 255, 192, 201, 145, 214, 168, 158, 221, 148, 154, 122,  12,  84,
     82, 163,  44, 139, 228, 236, 205, 242, 217,  11, 187, 146, 159,  64,  86, 239,
    195,  42, 106, 198, 118, 112, 184, 172,  87,   2, 173, 117, 176, 229, 247, 253,
    137, 185,  99, 164, 102, 147,  45,  66, 231,  52, 141, 211, 194, 206, 246, 238,
     56, 110,  78, 248,  63, 240, 189,  93,  92,  51,  53, 183,  19, 171,  72,  50,
     33, 104, 101,  69,   8, 252,  83, 120,  76, 135,  85,  54, 202, 125, 188, 213,
     96, 235, 136, 208, 162, 129, 190, 132, 156,  38,  47,   1,   7, 254,  24,   4,
    216, 131,  89,  21,  28, 133,  37, 153, 149,  80, 170,  68,   6, 169, 234, 151,
];

/// The bucket of a key, 0 to 255. Only the first 16 bytes count: the hash
/// begins with their number and mixes them in from the last to the first.
/// Allocates nothing.
#[must_use]
pub fn hash(key: &[u8]) -> u8 {
    let key = key.get(..KEY_LENGTH).unwrap_or(key);
    // At most 16, so nothing is cut.
    let length = key.len().to_le_bytes()[0];
    key.iter()
        .rev()
        .fold(length, |hash, byte| MIXING[usize::from(hash ^ byte)])
}

/// What a key written in hex begins with.
const HEX: &[u8] = b"hex:";

/// The bucket of a key as requests bring it. A text of VCL has no zero octets:
/// `hex:` and pairs of hex digits, between which colons may stand, are the
/// octets that they write; any other key is itself. Allocates nothing.
#[must_use]
pub fn bucket(key: &[u8]) -> u8 {
    let mut octets = [0; KEY_LENGTH];
    match key
        .strip_prefix(HEX)
        .and_then(|hex| decode(hex, &mut octets))
    {
        Some(length) => hash(octets.get(..length).unwrap_or(&octets)),
        None => hash(key),
    }
}

/// The bucket of `key`, or where it is empty, of `otherwise`: a client
/// identifier, or else a hardware address. Allocates nothing.
#[must_use]
pub fn bucket_or(key: &[u8], otherwise: &[u8]) -> u8 {
    bucket(if key.is_empty() { otherwise } else { key })
}

/// The number of octets in a text of hex digits, which are at least one, and
/// as many of them as there is room for.
fn decode(hex: &[u8], octets: &mut [u8; KEY_LENGTH]) -> Option<usize> {
    let mut rest = hex;
    let mut length = 0;
    loop {
        let [high, low, after @ ..] = rest else {
            return None;
        };
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|d| d.to_le_bytes()[0]);
        let octet = (digit(*high)? << 4) | digit(*low)?;
        if let Some(place) = octets.get_mut(length) {
            *place = octet;
        }
        length += 1;
        if after.is_empty() {
            return Some(length);
        }
        rest = after.strip_prefix(b":").unwrap_or(after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
    use serde_json::Value;
    use sha2::{Digest, Sha256};

    fn vectors() -> Value {
        serde_json::from_str(include_str!("../../tests/vectors/rfc3074.json")).unwrap()
    }

    #[test]
    fn the_table_is_the_one_of_the_rfc() {
        let vectors = vectors();
        assert_eq!(
            HEXLOWER.encode(&Sha256::digest(MIXING)),
            vectors["table_sha256"].as_str().unwrap()
        );
        let table: Vec<u64> = MIXING.iter().copied().map(u64::from).collect();
        assert_eq!(Value::from(table), vectors["table"]);
    }

    #[test]
    fn keys_have_the_published_buckets() {
        let vectors = vectors();
        let vectors = vectors["vectors"].as_array().unwrap();
        assert_eq!(vectors.len(), 10);
        for vector in vectors {
            let hex = vector["key_hex"].as_str().unwrap();
            let key = HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).unwrap();
            let bucket = hash(&key);
            assert_eq!(u64::from(bucket), vector["hash"].as_u64().unwrap(), "{hex}");
            assert_eq!(u64::from(bucket >> 3), vector["octet"].as_u64().unwrap());
            assert_eq!(1 << (bucket & 7), vector["mask"].as_u64().unwrap());
        }
    }

    #[test]
    fn sixteen_bytes_count_and_no_more() {
        let key = b"0123456789abcdefXYZ";
        for length in 16..=key.len() {
            assert_eq!(hash(&key[..length]), hash(&key[..16]));
        }
        assert_eq!(hash(&vec![b'x'; 1 << 20]), hash(&[b'x'; 16]));
        for place in 0..16 {
            let mut other = *key;
            other[place] ^= 1;
            assert_ne!(hash(&other), hash(key), "byte {place}");
        }
    }

    #[test]
    fn an_empty_key_gives_way_to_the_other() {
        assert_eq!(bucket_or(b"client", b"address"), hash(b"client"));
        assert_eq!(bucket_or(b"", b"address"), hash(b"address"));
        assert_eq!(bucket_or(b"", b"hex:00"), hash(b"\0"));
        assert_eq!(bucket_or(b"", b""), 0);
    }

    #[test]
    fn a_key_in_hex_is_the_octets_that_it_writes() {
        for vector in vectors()["vectors"].as_array().unwrap() {
            let hex = vector["key_hex"].as_str().unwrap();
            let spaced = hex
                .as_bytes()
                .chunks(2)
                .map(|pair| std::str::from_utf8(pair).unwrap())
                .collect::<Vec<_>>()
                .join(":");
            for text in [hex, &spaced, &hex.to_uppercase()] {
                // No octets at all cannot be written in hex.
                if !hex.is_empty() {
                    let bucket = u64::from(bucket(format!("hex:{text}").as_bytes()));
                    assert_eq!(bucket, vector["hash"].as_u64().unwrap(), "{text}");
                }
            }
        }
        let long = format!("hex:{}", "0a".repeat(5_000));
        assert_eq!(bucket(long.as_bytes()), hash(&[0x0a; 16]));
    }

    #[test]
    fn what_is_no_hex_is_the_key_itself() {
        for key in [
            "hex:",
            "hex:0",
            "hex:000",
            "hex:0g",
            "hex:00:",
            "hex::00",
            "hex:0:0",
            "hex:00::00",
            "hex:00 00",
            "HEX:00",
            "00",
            " hex:00",
        ] {
            assert_eq!(bucket(key.as_bytes()), hash(key.as_bytes()), "{key:?}");
        }
    }
}
