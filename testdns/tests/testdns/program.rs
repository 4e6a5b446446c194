//! The program: serve, ctl, and the control socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::{fs, thread};

use hickory_proto::op::ResponseCode;
use tempfile::TempDir;

use crate::client::{A, Udp, code, data};

fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_testdns"));
    command.args(words);
    command
}

fn run(words: &[&str]) -> Output {
    program(words).output().unwrap()
}

/// A `testdns serve` in a process of its own.
struct Serve {
    child: Child,
    addrs: Vec<SocketAddr>,
    dir: TempDir,
}

impl Serve {
    fn start(words: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), words)
    }

    fn start_in(dir: TempDir, words: &[&str]) -> Self {
        let control = dir.path().join("control");
        let mut command = program(&["serve", "--control", control.to_str().unwrap()]);
        let command = command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let listens = words.iter().filter(|word| **word == "--listen").count();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let addr = |line: String| line.strip_prefix("listening ").unwrap().parse().unwrap();
        let addrs = lines
            .take(listens)
            .map(|line| addr(line.unwrap()))
            .collect();
        Self { child, addrs, dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("control")
    }

    fn ctl(&self, commands: &[&str]) -> Output {
        let path = self.path();
        run(&[&["ctl", path.to_str().unwrap()], commands].concat())
    }

    fn printed(&self, commands: &[&str]) -> String {
        let output = self.ctl(commands);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn ended(mut self) -> TempDir {
        assert!(self.child.wait().unwrap().success());
        assert!(!self.path().exists());
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // Ended already, as a rule.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn it_serves_is_commanded_and_quits() {
    let serve = Serve::start(&["--listen", "127.0.0.1:0", "--listen", "[::1]:0"]);
    assert_eq!(serve.addrs.len(), 2);
    assert_eq!(
        serve.printed(&["set a.test A 127.0.0.1", "count a.test"]),
        "0\n"
    );
    for addr in &serve.addrs {
        assert_eq!(data(&Udp::to(*addr).ask("a.test", A)), ["127.0.0.1"]);
    }
    assert_eq!(
        serve.printed(&["count a.test", "count a.test tcp"]),
        "2\n0\n"
    );
    let addrs: Vec<String> = serve.addrs.iter().map(|addr| format!("{addr}\n")).collect();
    assert_eq!(serve.printed(&["addr"]), addrs.concat());
    assert_eq!(serve.printed(&["quit"]), "");
    serve.ended();
}

#[test]
fn ctl_stops_at_the_first_command_that_fails() {
    let serve = Serve::start(&LISTEN);
    let output = serve.ctl(&["ttl 5", "count *", "set a.test A x", "ttl 6"]);
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"0\n");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        error,
        "testdns: set a.test A x: address \"x\": accepted is an IPv4 address or hex=...\n"
    );
    assert!(serve.printed(&["dump"]).contains("ttl 5\n"));
    let output = serve.ctl(&["wait a.test 1 timeout=1ms"]);
    assert!(!output.status.success());
    serve.printed(&["quit"]);
    serve.ended();
}

#[test]
fn it_ends_with_its_input_if_told_so() {
    let mut serve = Serve::start(&["--listen", "127.0.0.1:0", "--until-eof"]);
    drop(serve.child.stdin.take());
    serve.ended();
}

#[test]
fn a_zone_file_is_in_force_from_the_start_and_at_each_start() {
    let dir = tempfile::tempdir().unwrap();
    let zone = dir.path().join("zone");
    fs::write(
        &zone,
        "# two names\nset a.test A 127.0.0.1\n\nfail b.test servfail # for ever\n",
    )
    .unwrap();
    let zone = zone.to_str().unwrap().to_owned();
    let serve = Serve::start_in(dir, &["--listen", "127.0.0.1:0", "--zone", &zone]);
    let udp = Udp::to(serve.addrs[0]);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
    assert_eq!(code(&udp.ask("b.test", A)), ResponseCode::ServFail);
    let listen = serve.addrs[0].to_string();
    serve.printed(&["quit"]);
    let dir = serve.ended();
    let serve = Serve::start_in(dir, &["--listen", &listen, "--zone", &zone]);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
    serve.printed(&["quit"]);
    serve.ended();
}

#[test]
fn a_control_socket_left_behind_is_replaced_and_one_in_use_is_not() {
    let mut serve = Serve::start(&LISTEN);
    let path = serve.path();
    let second = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--control",
        path.to_str().unwrap(),
    ]);
    assert!(!second.status.success());
    assert_eq!(serve.printed(&["count *"]), "0\n");
    serve.child.kill().unwrap();
    serve.child.wait().unwrap();
    assert!(path.exists());
    let dir = std::mem::replace(&mut serve.dir, tempfile::tempdir().unwrap());
    let serve = Serve::start_in(dir, &LISTEN);
    serve.printed(&["quit"]);
    serve.ended();
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("precious");
    fs::write(&path, "text").unwrap();
    let output = run(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--control",
        path.to_str().unwrap(),
    ]);
    assert!(!output.status.success());
    assert_eq!(fs::read(&path).unwrap(), b"text");
}

#[test]
fn ctl_waits_for_the_socket_if_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control");
    let path = path.to_str().unwrap();
    assert!(!run(&["ctl", path, "count *"]).status.success());
    thread::scope(|scope| {
        let early = scope.spawn(|| run(&["ctl", "--patience", "20", path, "quit"]));
        let late = scope.spawn(|| run(&["serve", "--listen", "127.0.0.1:0", "--control", path]));
        assert!(early.join().unwrap().status.success());
        assert!(late.join().unwrap().status.success());
    });
}

#[test]
fn clients_side_by_side_and_lines_of_any_bytes() {
    let serve = Serve::start(&LISTEN);
    let mut waiting = UnixStream::connect(serve.path()).unwrap();
    waiting.write_all(b"wait a.test 1\ncount *\n").unwrap();
    let mut other = UnixStream::connect(serve.path()).unwrap();
    other
        .write_all(b"\n# nothing\n\xff\xfe\nttl 3\r\ncount *")
        .unwrap();
    other.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    other.read_to_string(&mut text).unwrap();
    assert_eq!(
        text,
        "ok 0\nok 0\nerror 1\nunknown command \"\u{fffd}\u{fffd}\": `help` lists them\nok 0\nok 1\n0\n"
    );
    Udp::to(serve.addrs[0]).ask("a.test", A);
    waiting.shutdown(std::net::Shutdown::Write).unwrap();
    text.clear();
    waiting.read_to_string(&mut text).unwrap();
    assert_eq!(text, "ok 0\nok 1\n1\n");
    serve.printed(&["quit"]);
    serve.ended();
}

#[test]
fn a_line_without_end_is_cut() {
    let serve = Serve::start(&LISTEN);
    let mut stream = UnixStream::connect(serve.path()).unwrap();
    let sent = stream.write_all(&vec![b'x'; 1 << 20]);
    sent.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "error 1\nthe line is longer than 1048576 bytes\n");
    serve.printed(&["quit"]);
    serve.ended();
}

#[test]
fn help_holds_the_commands_and_wrong_words_are_named() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.starts_with("Usage:"));
    assert!(help.ends_with(testdns::COMMANDS));
    for (words, error) in [
        (&["serve"][..], "no address to listen on"),
        (&["serve", "--listen", "here"], "here"),
        (&["serve", "--loud"], "--loud"),
        (
            &["serve", "--listen", "127.0.0.1:0", "--zone", "/no/zone"],
            "/no/zone",
        ),
        (&["ctl"], "PATH is missing"),
        (&["ctl", "/no/socket"], "COMMAND is missing"),
        (&["ctl", "/no/socket", "up"], "/no/socket"),
        (&["ctl", "--patience", "long"], "long"),
        (&[], "serve, ctl or --help"),
        (&["run"], "serve, ctl or --help"),
    ] {
        let output = run(words);
        assert!(!output.status.success(), "{words:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(error), "{words:?}: {text}");
    }
}
