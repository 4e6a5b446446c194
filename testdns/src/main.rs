//! The scripted DNS server as a program.

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use lexopt::prelude::{Long, Short, Value, ValueExt};
use testdns::Server;
use testdns::control::Client;

const USAGE: &str = "\
Usage:
  testdns serve --listen ADDR:PORT [--listen ...] [--control PATH] [--zone FILE] [--until-eof]
  testdns ctl [--patience SECONDS] PATH COMMAND [COMMAND ...]
  testdns --help

serve: a scripted DNS server on UDP and TCP. Port 0 is any free one. Prints `listening ADDR:PORT`
for each address once it answers. Ends by the command `quit`, and with --until-eof also when its
standard input ends.

ctl: gives commands to the server whose control socket is PATH and prints what they print. Ends
with status 0 if all were carried out; stops at the first that was not, with status 1. With
--patience it waits up to that long for the socket to be there.

";

/// How often to look for the control socket.
const POLL: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing can be done about a closed standard error.
            let _ = writeln!(io::stderr(), "testdns: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words = lexopt::Parser::from_env();
    match words.next()? {
        Some(Value(word)) if word == "serve" => serve(&mut words),
        Some(Value(word)) if word == "ctl" => ctl(&mut words),
        Some(Long("help") | Short('h')) => {
            let mut out = io::stdout();
            Ok(write!(out, "{USAGE}{}", testdns::COMMANDS)?)
        }
        _ => Err("serve, ctl or --help is needed first".into()),
    }
}

fn serve(words: &mut lexopt::Parser) -> Result<(), Box<dyn Error>> {
    let mut listen: Vec<SocketAddr> = Vec::new();
    let mut control: Option<PathBuf> = None;
    let mut zone = String::new();
    let mut until_eof = false;
    while let Some(word) = words.next()? {
        match word {
            Long("listen") => listen.push(words.value()?.parse()?),
            Long("control") => control = Some(words.value()?.into()),
            Long("zone") => {
                let path = PathBuf::from(words.value()?);
                let text = fs::read_to_string(&path);
                zone = text.map_err(|error| format!("{}: {error}", path.display()))?;
            }
            Long("until-eof") => until_eof = true,
            _ => return Err(word.unexpected().into()),
        }
    }
    let server = Arc::new(Server::with_zone(&listen, &zone)?);
    if let Some(path) = control {
        let made = server.control(&path);
        made.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut out = io::stdout().lock();
    for addr in server.addrs() {
        writeln!(out, "listening {addr}")?;
    }
    out.flush()?;
    if until_eof {
        let server = Arc::clone(&server);
        thread::spawn(move || {
            // An error is an end too.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            let _ = server.command("quit");
        });
    }
    server.wait();
    Ok(())
}

fn ctl(words: &mut lexopt::Parser) -> Result<(), Box<dyn Error>> {
    let mut patience = Duration::ZERO;
    let mut path: Option<PathBuf> = None;
    let mut commands: Vec<String> = Vec::new();
    while let Some(word) = words.next()? {
        match word {
            Long("patience") => {
                patience = Duration::try_from_secs_f64(words.value()?.parse()?)?;
            }
            Value(value) if path.is_none() => path = Some(value.into()),
            Value(value) => commands.push(value.string()?),
            _ => return Err(word.unexpected().into()),
        }
    }
    let path = path.ok_or("ctl: PATH is missing")?;
    if commands.is_empty() {
        return Err("ctl: COMMAND is missing".into());
    }
    let client = connect(&path, patience);
    let mut client = client.map_err(|error| format!("{}: {error}", path.display()))?;
    let mut out = io::stdout().lock();
    for command in &commands {
        let reply = client.command(command)?;
        let text = reply.map_err(|error| format!("{command}: {error}"))?;
        if !text.is_empty() {
            writeln!(out, "{text}")?;
        }
    }
    Ok(out.flush()?)
}

fn connect(path: &Path, patience: Duration) -> io::Result<Client> {
    let start = Instant::now();
    loop {
        match Client::connect(path) {
            Err(_) if start.elapsed() < patience => thread::sleep(POLL),
            result => return result,
        }
    }
}
