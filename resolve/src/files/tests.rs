//! Files that change, and what is no file.

use std::fs::{self, File};

use super::*;

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

struct Place {
    dir: tempfile::TempDir,
    watched: Watched<Vec<String>>,
}

impl Place {
    fn new(every: Duration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let watched = Watched::new(dir.path().join("file"), every, lines);
        Self { dir, watched }
    }

    fn write(&self, text: &str) {
        fs::write(self.dir.path().join("file"), text).unwrap();
    }

    /// As careful programs do it.
    fn replace(&self, text: &str) {
        let new = self.dir.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.dir.path().join("file")).unwrap();
    }

    fn get(&self) -> Vec<String> {
        self.watched.get().to_vec()
    }
}

#[test]
fn every_change_is_seen_even_of_the_same_size_and_time() {
    let place = Place::new(Duration::ZERO);
    assert_eq!(place.get(), lines(""));
    for round in 0..20 {
        let text = format!("{}", round % 10);
        place.write(&text);
        assert_eq!(place.get(), lines(&text));
    }
    place.replace("other");
    assert_eq!(place.get(), lines("other"));
    fs::remove_file(place.dir.path().join("file")).unwrap();
    assert_eq!(place.get(), lines(""));
    place.write("back");
    assert_eq!(place.get(), lines("back"));
}

#[test]
fn the_same_text_is_the_same_value() {
    let place = Place::new(Duration::ZERO);
    place.write("text");
    let first = place.watched.get();
    place.replace("text");
    assert!(Arc::ptr_eq(&first, &place.watched.get()));
    let gone = Place::new(Duration::ZERO);
    let first = gone.watched.get();
    assert!(Arc::ptr_eq(&first, &gone.watched.get()));
}

#[test]
fn a_settled_file_is_not_read_again() {
    let place = Place::new(Duration::ZERO);
    let path = place.dir.path().join("file");
    place.write("text");
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(long_ago).unwrap();
    assert_eq!(place.get(), lines("text"));
    let seen = place.watched.seen.lock().unwrap();
    let stamp = seen.as_ref().unwrap().stamp.as_ref();
    assert_eq!(stamp, Some(&Stamp::of(&fs::metadata(path).unwrap())));
}

#[test]
fn nobody_looks_more_often_than_said() {
    let place = Place::new(Duration::from_secs(3600));
    place.write("old");
    assert_eq!(place.get(), lines("old"));
    place.write("new");
    assert_eq!(place.get(), lines("old"));
}

#[test]
fn what_is_no_file_is_empty() {
    let place = Place::new(Duration::ZERO);
    fs::create_dir(place.dir.path().join("file")).unwrap();
    assert_eq!(place.get(), lines(""));
    let endless = Watched::new("/dev/zero", Duration::ZERO, lines);
    assert_eq!(endless.get().to_vec(), lines(""));
    let pipe = place.dir.path().join("pipe");
    nix_pipe(&pipe);
    let pipe = Watched::new(pipe, Duration::ZERO, lines);
    assert_eq!(pipe.get().to_vec(), lines(""));
}

fn nix_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn what_is_wrong_with_the_files_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("hosts")).unwrap();
    fs::write(path("nsswitch.conf"), "hosts: files mdns dns myhostname\n").unwrap();
    let files = SystemFiles::new(path("resolv.conf"), path("hosts"), path("nsswitch.conf"))
        .recheck(Duration::ZERO);
    let place = dir.path().display();
    assert_eq!(
        files.take_notices(),
        [
            format!("{place}/hosts: not a regular file: taken as empty"),
            format!(
                "{place}/nsswitch.conf: hosts: only files and dns are asked, not mdns, myhostname"
            ),
        ]
    );
    assert!(files.take_notices().is_empty());
    fs::write(path("nsswitch.conf"), "hosts: files ldap\n").unwrap();
    assert_eq!(
        files.take_notices(),
        [format!(
            "{place}/nsswitch.conf: hosts: only files and dns are asked, not ldap"
        )]
    );
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let place = Place::new(Duration::ZERO);
    fs::write(place.dir.path().join("file"), b"good\n\xff\xfe\n\0\nmore").unwrap();
    let seen = place.get();
    assert_eq!(seen.len(), 4);
    assert_eq!(seen.first().map(String::as_str), Some("good"));
}

#[test]
fn a_file_that_is_too_large_is_empty() {
    let place = Place::new(Duration::ZERO);
    let huge = File::create(place.dir.path().join("file")).unwrap();
    huge.set_len(MAX_SIZE + 1).unwrap();
    assert_eq!(place.get(), lines(""));
}
