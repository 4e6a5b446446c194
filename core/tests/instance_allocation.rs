//! Reading the instance that a request names allocates nothing.

use allocation_counter::measure;
use dynamic_core::instance::Instance;

#[test]
fn an_instance_in_ascii_is_read_without_allocating() {
    for text in [
        "192.0.2.1",
        "192.0.2.1.:80",
        "2001:db8::1",
        "[2001:db8::1]:8080",
        "Web-1.Example.COM.",
        "a.example:80",
        "[fe80::1%2]:80",
        "a b",
        &"a".repeat(70_000),
    ] {
        let count = measure(|| {
            let mut buf = [0; 256];
            let _ = Instance::parse(text.as_bytes(), &mut buf);
        });
        assert_eq!(count.count_total, 0, "{text:.40}");
    }
}
