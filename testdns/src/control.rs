//! Commands over a Unix socket.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use crate::server::{Done, Shared};

/// The longest command line, in bytes: a raw message in hex and more.
const LONGEST: u64 = 1 << 20;

/// How long to wait after an error that may last, such as too many open files.
const PAUSE: Duration = Duration::from_millis(10);

/// A control socket, whose file goes with it.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Somebody may have removed it already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the socket, in the place of one that nobody listens to any more.
pub(crate) fn listen(path: &Path) -> io::Result<Listener> {
    let stale = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if stale && UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    Ok(Listener {
        listener: UnixListener::bind(path)?,
        path: path.to_owned(),
    })
}

/// Takes connections; each gives its commands one after the other.
pub(crate) async fn serve(listener: Listener, shared: Arc<Shared>) {
    loop {
        if let Ok((stream, _)) = listener.listener.accept().await {
            tokio::spawn(converse(stream, Arc::clone(&shared)));
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn converse(stream: tokio::net::UnixStream, shared: Arc<Shared>) {
    let (read, mut write) = stream.into_split();
    let mut read = tokio::io::BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let read_line = (&mut read).take(LONGEST).read_until(b'\n', &mut line).await;
        if read_line.is_err() || line.is_empty() {
            return;
        }
        let cut = line.len() as u64 == LONGEST && !line.ends_with(b"\n");
        let line = String::from_utf8_lossy(&line);
        let done = if cut {
            Err(format!("the line is longer than {LONGEST} bytes"))
        } else {
            let done = shared.execute(&line).await;
            done.map_err(|error| error.to_string())
        };
        let quit = matches!(done, Ok(Done::Quit));
        let reply = match done {
            Ok(done) => frame("ok", &done.text()),
            Err(error) => frame("error", &error),
        };
        let sent = write.write_all(reply.as_bytes()).await;
        if quit {
            shared.quit.notify_one();
        }
        if sent.is_err() || cut {
            return;
        }
    }
}

fn frame(status: &str, text: &str) -> String {
    let mut reply = format!("{status} {}\n", text.lines().count());
    for line in text.lines() {
        reply.push_str(line);
        reply.push('\n');
    }
    reply
}

/// A connection to a server's control socket.
#[derive(Debug)]
pub struct Client(BufReader<UnixStream>);

impl Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// No server listens at this path.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self(BufReader::new(UnixStream::connect(path)?)))
    }

    /// Gives one command and returns what it prints, or, inside, why it was refused.
    ///
    /// # Errors
    ///
    /// The connection is broken, or the command has a line break in it.
    pub fn command(&mut self, command: &str) -> io::Result<Result<String, String>> {
        if command.contains('\n') {
            let error = "a command is one line";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        self.0
            .get_mut()
            .write_all(format!("{command}\n").as_bytes())?;
        let status = self.line()?;
        let (status, lines) = status.split_once(' ').unwrap_or_default();
        let lines: usize = lines.parse().map_err(io::Error::other)?;
        let text = (0..lines)
            .map(|_| self.line())
            .collect::<io::Result<Vec<_>>>()?;
        let text = text.join("\n");
        Ok(match status {
            "ok" => Ok(text),
            _ => Err(text),
        })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches('\n').to_owned())
    }
}
