//! The table of first sights: right, bounded, and shared between threads.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use dynamic_core::buckets::FirstSeen;
use dynamic_core::buckets::waiting::CAPACITY;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn table() -> FirstSeen {
    FirstSeen::new(*b"0123456789abcdef", Duration::MAX)
}

/// The client with this number asks at this time.
fn waited(table: &FirstSeen, client: u64, now: Duration) -> Duration {
    table.waited(&client.to_le_bytes(), b"transaction", now)
}

#[test]
fn time_runs_from_the_first_sight() {
    let table = table();
    assert!(table.is_empty());
    assert_eq!(table.waited(b"k", b"t", ms(1_000)), Duration::ZERO);
    assert_eq!(table.waited(b"k", b"t", ms(1_000)), Duration::ZERO);
    assert_eq!(table.waited(b"k", b"t", ms(1_001)), ms(1));
    assert_eq!(table.waited(b"k", b"t", ms(6_000)), ms(5_000));
    assert_eq!(table.waited(b"k", b"t", ms(86_400_000)), ms(86_399_000));
    assert_eq!(table.len(), 1);
}

#[test]
fn a_client_is_a_key_and_a_transaction() {
    let table = table();
    let clients: [(&[u8], &[u8]); 6] = [
        (b"k", b"t"),
        (b"k", b"u"),
        (b"j", b"t"),
        (b"", b"kt"),
        (b"kt", b""),
        (b"0123456789abcdefXYZ", b"t"),
    ];
    for (second, (key, transaction)) in (1..).zip(clients) {
        assert_eq!(
            table.waited(key, transaction, ms(second * 1000)),
            Duration::ZERO
        );
    }
    for (second, (key, transaction)) in (1..).zip(clients) {
        assert_eq!(
            table.waited(key, transaction, ms(10_000)),
            ms(10_000 - second * 1000)
        );
    }
    assert_eq!(table.len(), clients.len());
}

#[test]
fn five_thousand_wait_at_once_and_none_is_forgotten() {
    for seed in 0..20 {
        let table = FirstSeen::new([seed; 16], Duration::MAX);
        for client in 0..5_000 {
            assert_eq!(waited(&table, client, ms(client)), Duration::ZERO);
        }
        for client in 0..5_000 {
            assert_eq!(waited(&table, client, ms(10_000)), ms(10_000 - client));
        }
        assert_eq!(table.len(), 5_000);
    }
}

#[test]
fn the_table_never_grows_and_the_oldest_go_first() {
    let table = table();
    let last = 200_000;
    for client in 0..last {
        assert_eq!(waited(&table, client, ms(client)), Duration::ZERO);
    }
    assert_eq!(table.len(), CAPACITY);
    // To ask enters those who were forgotten, so from the youngest back.
    let now = ms(last);
    for client in (last - 5_000..last).rev() {
        assert_eq!(waited(&table, client, now), ms(last - client), "{client}");
    }
    for client in 0..100 {
        assert_eq!(waited(&table, client, now), Duration::ZERO, "{client}");
    }
    assert_eq!(table.len(), CAPACITY);
}

#[test]
fn the_room_is_used_before_anybody_is_pushed_out() {
    for seed in 0..20 {
        let table = FirstSeen::new([seed; 16], Duration::MAX);
        for client in 0..8_500 {
            let _ = waited(&table, client, ms(client));
        }
        assert_eq!(table.len(), 8_500);
        for client in 8_500..10_000 {
            let _ = waited(&table, client, ms(client));
        }
        assert!(table.len() > 9_700, "{}", table.len());
    }
}

#[test]
fn clocks_of_two_threads_may_differ_a_little() {
    let table = table();
    assert_eq!(table.waited(b"k", b"t", ms(10_000)), Duration::ZERO);
    assert_eq!(table.waited(b"k", b"t", ms(9_999)), Duration::ZERO);
    assert_eq!(table.waited(b"k", b"t", ms(10_500)), ms(500));
}

#[test]
fn time_may_start_anywhere_and_wrap() {
    for start in [0, u64::from(u32::MAX) - 2_000, u64::from(u32::MAX), 1 << 50] {
        let table = table();
        assert_eq!(table.waited(b"k", b"t", ms(start)), Duration::ZERO);
        assert_eq!(table.waited(b"k", b"t", ms(start + 5_000)), ms(5_000));
    }
    let table = table();
    assert_eq!(table.waited(b"k", b"t", Duration::MAX), Duration::ZERO);
}

#[test]
fn another_seed_puts_clients_elsewhere() {
    // What is pushed out depends on the seed, so that nobody can aim at it.
    let survivors = |seed| {
        let table = FirstSeen::new([seed; 16], Duration::MAX);
        for client in 0..12_000 {
            let _ = waited(&table, client, ms(client));
        }
        (2_000..12_000)
            .rev()
            .filter(|client| waited(&table, *client, ms(20_000)) == ms(20_000 - client))
            .collect::<Vec<u64>>()
    };
    assert_eq!(survivors(1), survivors(1));
    assert_ne!(survivors(1), survivors(2));
}

#[test]
fn threads_agree_on_the_first_sight() {
    const THREADS: u64 = 8;
    const CLIENTS: u64 = 2_000;
    let table = table();
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, barrier) = (&table, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for step in 0..CLIENTS {
                    // Half of the threads come the other way round.
                    let client = if thread % 2 == 0 {
                        step
                    } else {
                        CLIENTS - 1 - step
                    };
                    assert!(waited(table, client, ms(1_000 + thread)) < ms(THREADS));
                }
            });
        }
    });
    // Whoever was first, all see one first sight afterwards.
    for client in 0..CLIENTS {
        let since = waited(&table, client, ms(10_000));
        assert!(
            since > ms(9_000 - THREADS) && since <= ms(9_000),
            "{since:?}"
        );
        assert_eq!(waited(&table, client, ms(10_001)), since + ms(1));
    }
    // A client may be entered twice, no more than once a thread.
    let len = u64::try_from(table.len()).expect("a small number");
    assert!((CLIENTS..CLIENTS * 2).contains(&len), "{len}");
}

#[test]
fn long_names_are_clients_too() {
    let table = table();
    let key = vec![0xff; 65_536];
    assert_eq!(table.waited(&key, &key, ms(1)), Duration::ZERO);
    assert_eq!(table.waited(&key, &key, ms(3)), ms(2));
    assert_eq!(table.waited(&key, &key[1..], ms(3)), Duration::ZERO);
}

#[test]
fn debug_shows_no_seed() {
    assert_eq!(format!("{:?}", table()), "FirstSeen { len: 0, .. }");
}

#[test]
fn a_client_begins_anew_when_it_was_not_seen_for_long() {
    let table = FirstSeen::new([1; 16], ms(50_000));
    let seen = |at| table.waited(b"k", b"t", ms(at));
    assert_eq!(seen(1_000), Duration::ZERO);
    assert_eq!(seen(51_000), ms(50_000));
    assert_eq!(seen(101_000), ms(100_000));
    assert_eq!(seen(151_001), Duration::ZERO);
    assert_eq!(seen(152_001), ms(1_000));
    assert_eq!(table.len(), 1);
}

#[test]
fn a_client_that_is_served_is_forgotten_and_no_other() {
    let table = table();
    table.forget(b"k", b"t", ms(1_000));
    assert_eq!(table.waited(b"k", b"t", ms(1_000)), Duration::ZERO);
    assert_eq!(table.waited(b"k", b"u", ms(1_000)), Duration::ZERO);
    table.forget(b"k", b"t", ms(2_000));
    table.forget(b"k", b"v", ms(2_000));
    assert_eq!(table.len(), 1);
    assert_eq!(table.waited(b"k", b"u", ms(3_000)), ms(2_000));
    assert_eq!(table.waited(b"k", b"t", ms(3_000)), Duration::ZERO);
}
