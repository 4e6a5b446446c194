//! Reads files whose names come from a configuration.
//!
//! Such a name can be that of a device without an end or of a pipe without a
//! writer. Only regular files are read, and only up to a limit. The check is
//! made on the opened file, so that what is read is what was checked.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Permission bits: readable by the group, and by others.
const GROUP_OR_OTHERS: u32 = 0o044;

/// An open regular file.
#[derive(Debug)]
pub struct RegularFile {
    file: File,
    metadata: Metadata,
}

impl RegularFile {
    /// Opens a file for reading; symbolic links are followed. Never waits for
    /// a pipe's writer or a device.
    ///
    /// # Errors
    ///
    /// What the system says, and [`io::ErrorKind::InvalidInput`] with the text
    /// "not a regular file".
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        // The standard library sets O_CLOEXEC on its own.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        Ok(Self { file, metadata })
    }

    /// The file's state when it was opened.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether its permission bits let its group or others read it.
    #[must_use]
    pub fn is_readable_by_others(&self) -> bool {
        self.metadata.mode() & GROUP_OR_OTHERS != 0
    }

    /// Reads all of it, at most `limit` octets. The buffer is not moved while
    /// it fills, unless the file has grown since it was opened: a secret in it
    /// leaves no copy behind.
    ///
    /// # Errors
    ///
    /// What the system says, and [`io::ErrorKind::FileTooLarge`] with the text
    /// "larger than `limit` octets".
    pub fn read(self, limit: u64) -> io::Result<Vec<u8>> {
        let too_large = || {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("larger than {limit} octets"),
            )
        };
        let size = self.metadata.len();
        if size > limit {
            return Err(too_large());
        }
        // One octet more shows the end without a larger buffer.
        let room = usize::try_from(size.saturating_add(1)).map_err(|_| too_large())?;
        let mut octets = Vec::new();
        octets.try_reserve_exact(room)?;
        self.file
            .take(limit.saturating_add(1))
            .read_to_end(&mut octets)?;
        if u64::try_from(octets.len()).is_ok_and(|length| length <= limit) {
            Ok(octets)
        } else {
            Err(too_large())
        }
    }
}

/// Opens a regular file and reads all of it, at most `limit` octets.
///
/// # Errors
///
/// As [`RegularFile::open`] and [`RegularFile::read`].
pub fn read(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    RegularFile::open(path)?.read(limit)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    fn error(path: impl AsRef<Path>, limit: u64) -> String {
        read(path, limit).unwrap_err().to_string()
    }

    #[test]
    fn a_regular_file_is_read_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(error(&path, 4), "larger than 4 octets");
        assert_eq!(
            read(&path, 4).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        fs::write(&path, "").unwrap();
        assert_eq!(read(&path, 0).unwrap(), b"");
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_stays_within_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "1").unwrap();
        let opened = RegularFile::open(&path).unwrap();
        fs::write(&path, "12345").unwrap();
        assert_eq!(
            opened.read(4).unwrap_err().to_string(),
            "larger than 4 octets"
        );
    }

    /// Files of /proc have the size 0 and a text all the same.
    #[test]
    fn a_file_without_a_size_is_read_and_bounded() {
        assert!(!read("/proc/self/status", 1 << 20).unwrap().is_empty());
        assert_eq!(error("/proc/self/status", 3), "larger than 3 octets");
    }

    #[test]
    fn a_symbolic_link_leads_to_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&path, "text").unwrap();
        symlink(&path, &link).unwrap();
        assert_eq!(read(&link, 100).unwrap(), b"text");
        let device = dir.path().join("device");
        symlink("/dev/zero", &device).unwrap();
        assert_eq!(error(&device, 100), "not a regular file");
    }

    #[test]
    fn devices_pipes_folders_and_sockets_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        for path in [
            Path::new("/dev/zero"),
            Path::new("/dev/null"),
            dir.path(),
            pipe.as_path(),
        ] {
            assert_eq!(error(path, 100), "not a regular file", "{path:?}");
        }
        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(read(&socket, 100).is_err());
    }

    #[test]
    fn a_missing_file_is_not_found() {
        let error = read("/nonexistent/file", 100).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn it_is_known_who_else_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "text").unwrap();
        for (mode, exposed) in [
            (0o600, false),
            (0o400, false),
            (0o711, false),
            (0o640, true),
            (0o604, true),
            (0o644, true),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = RegularFile::open(&path).unwrap();
            assert_eq!(file.is_readable_by_others(), exposed, "{mode:o}");
        }
    }

    #[test]
    fn the_buffer_of_a_file_that_stays_the_same_does_not_move() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, vec![b'x'; 100_000]).unwrap();
        let octets = read(&path, 1 << 20).unwrap();
        assert_eq!(octets.capacity(), 100_001);
    }
}
