//! Runs every `vtc/*.vtc`, and loads every `examples/*.vcl`, on the real engine: one test each.
//!
//! The engine's own runner does the work; `make env` says which. A test passes when the runner says
//! that it passed: one that it skipped has failed, and so has one that left a process running.
//!
//! A VTC file finds these macros:
//!
//! | macro | is |
//! |---|---|
//! | `vmod_dynamic` | the module: `import dynamic from "${vmod_dynamic}";` |
//! | `vmod_path` | that parameter's value with which `import dynamic;` finds it, and `std` too |
//! | `testdns` | the scripted DNS server's program |
//! | `dns_addr`, `dns_port`, `dns` | a loopback address and port of this test alone, and both as `address:port` |
//! | `dns2_addr`, `dns2_port`, `dns2` | another one |
//! | `root` | the folder of the sources |
//!
//! The commands are those that each engine's runner knows. Absence is a pattern that does not match:
//! `-cliexpect {(?s)\A(?!.*PATTERN)}`. The engine's other programs are `"$ENGINE_ADM"`, `"$ENGINE"log` and
//! `"$ENGINE"stat`.
//!
//! | variable | is |
//! |---|---|
//! | `VTEST` | the runner; required |
//! | `ENGINE`, `ENGINE_ADM` | `varnish` or `vinyl`, and its command-line client |
//! | `ENGINE_VMODDIR` | the folder of the engine's own modules |
//! | `VTC_MODULE`, `VTC_TESTDNS` | the module and program to test, both or neither; else they are built first |
//! | `VTC_JOBS` | how many run at once; three times the number of cores, as they wait more than they work |
//! | `VTC_SECONDS` | the time limit of one test, 240 |
//! | `VTC_KEEP` | where set, the folder of a failed test is kept and named |

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio, id};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};

/// Set in the environment of everything that a test starts, so that what it leaves is found.
const MARK: &str = "VMOD_DYNAMIC_TEST";

/// How many lines of a failed test's log are shown.
const TAIL: usize = 150;

/// Room for the runner's log of one test: with less it gives up on one that takes long.
const LOG_SIZE: &str = "16M";

/// The runner says this ten times a second until the server is up.
const NOISE: &str = "No VSL chunk found";

/// How long the engine may take to end after its test has.
const GRACE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    match suite(&mut arguments) {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn suite(arguments: &mut Arguments) -> Result<Vec<Trial>, String> {
    if arguments.test_threads.is_none() {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        arguments.test_threads = Some(number("VTC_JOBS", 3 * cores)?);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = Vec::new();
    for file in files(&root.join("vtc"), "vtc")? {
        cases.push((stem(&file), Case::Vtc(file)));
    }
    if cases.is_empty() {
        return Err(format!(
            "there is no VTC file in {}",
            root.join("vtc").display()
        ));
    }
    for file in files(&root.join("examples"), "vcl")? {
        cases.push((format!("example_{}", stem(&file)), Case::Example(file)));
    }
    let bench = Arc::new(if arguments.list {
        Bench::default()
    } else {
        Bench::new()?
    });
    Ok(cases
        .into_iter()
        .enumerate()
        .map(|(index, (name, case))| {
            let bench = Arc::clone(&bench);
            Trial::test(name, move || bench.run(index, &case))
        })
        .collect())
}

/// What one test runs.
enum Case {
    /// A VTC file.
    Vtc(PathBuf),
    /// A VCL that has to load.
    Example(PathBuf),
}

/// The programs under test and the limits.
#[derive(Default)]
struct Bench {
    runner: PathBuf,
    module: PathBuf,
    vmod_path: OsString,
    testdns: PathBuf,
    limit: Duration,
    keep: bool,
}

impl Bench {
    fn new() -> Result<Self, String> {
        let runner = env::var_os("VTEST")
            .ok_or("VTEST is not set: use `make vtc`, or first `eval \"$(make -s env)\"`")?;
        let (module, testdns) = match (env::var_os("VTC_MODULE"), env::var_os("VTC_TESTDNS")) {
            (Some(module), Some(testdns)) => (module.into(), testdns.into()),
            _ => build()?,
        };
        for file in [&module, &testdns] {
            if !file.is_file() {
                return Err(format!("there is no {}", file.display()));
            }
        }
        let mut vmod_path = module
            .parent()
            .unwrap_or(Path::new("/"))
            .as_os_str()
            .to_owned();
        if let Some(folder) = env::var_os("ENGINE_VMODDIR") {
            vmod_path.push(":");
            vmod_path.push(folder);
        }
        Ok(Self {
            runner: runner.into(),
            module,
            vmod_path,
            testdns,
            limit: Duration::from_secs(number("VTC_SECONDS", 240)? as u64),
            keep: env::var_os("VTC_KEEP").is_some(),
        })
    }

    fn run(&self, index: usize, case: &Case) -> Result<(), Failed> {
        let mark = format!("{}-{index}", id());
        // The engine puts Unix sockets there, whose paths must be short.
        let folder = env::temp_dir().join(format!("vtc-{mark}"));
        fs::create_dir_all(&folder)?;
        let outcome = self.run_in(&folder, index, &mark, case);
        if outcome.is_err() && self.keep {
            println!("kept: {}", folder.display());
        } else {
            fs::remove_dir_all(&folder)?;
        }
        outcome
    }

    fn run_in(&self, folder: &Path, index: usize, mark: &str, case: &Case) -> Result<(), Failed> {
        let file = match case {
            Case::Vtc(file) => file.clone(),
            Case::Example(file) => {
                let generated = folder.join("example.vtc");
                fs::write(&generated, load(&furnish(file, folder)?))?;
                generated
            }
        };
        let log = folder.join("log");
        let mut command = Command::new(&self.runner);
        if self.keep {
            command.arg("-l");
        }
        // No test asks name servers off this machine: the system's is the test's own.
        let resolv_conf = folder.join("resolv.conf");
        command
            .env("VMOD_DYNAMIC_RESOLV_CONF", &resolv_conf)
            .env("VMOD_DYNAMIC_NSSWITCH", folder.join("nsswitch.conf"))
            .env_remove("LOCALDOMAIN")
            .env_remove("RES_OPTIONS");
        let macros = self.macros(index)?;
        let server = (macros["dns_addr"].display(), macros["dns_port"].display());
        fs::write(
            &resolv_conf,
            format!("nameserver [{}]:{}\n", server.0, server.1),
        )?;
        for (name, value) in macros {
            let mut definition = OsString::from(name);
            definition.push("=");
            definition.push(value);
            command.arg("-D").arg(definition);
        }
        // The runner's own limit ends the test in good order; ours is for a runner that hangs.
        command
            .args(["-t", &self.limit.as_secs().to_string()])
            .args(["-b", LOG_SIZE])
            .arg(&file);
        command
            .env("TMPDIR", folder)
            .env(MARK, mark)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?);

        let ended = watch(command, self.limit + GRACE);
        let left = sweep(mark, if ended.is_ok() { GRACE } else { Duration::ZERO });
        let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let status = ended.map_err(|why| format!("{why}\n{}", digest(&text)))?;
        let passed = text
            .lines()
            .rev()
            .any(|line| line.contains("TEST") && line.contains(" passed ("));
        if !status.success() || !passed {
            let why = if status.code() == Some(77) {
                "skipped, which counts as failed"
            } else {
                "failed"
            };
            return Err(format!("{why} ({status})\n{}", digest(&text)).into());
        }
        if !left.is_empty() {
            return Err(format!("left running: {}\n{}", left.join(", "), digest(&text)).into());
        }
        Ok(())
    }

    fn macros(&self, index: usize) -> Result<BTreeMap<&'static str, OsString>, Failed> {
        let mut macros = BTreeMap::from([
            ("root", env!("CARGO_MANIFEST_DIR").into()),
            ("vmod_dynamic", self.module.clone().into_os_string()),
            ("vmod_path", self.vmod_path.clone()),
            ("testdns", self.testdns.clone().into_os_string()),
        ]);
        for (nth, names) in [
            ["dns_addr", "dns_port", "dns"],
            ["dns2_addr", "dns2_port", "dns2"],
        ]
        .into_iter()
        .enumerate()
        {
            let place = free_place(loopback(id(), 2 * index + nth))?;
            macros.insert(names[0], place.ip().to_string().into());
            macros.insert(names[1], place.port().to_string().into());
            macros.insert(names[2], place.to_string().into());
        }
        Ok(macros)
    }
}

/// Builds what is tested, in the profile that this program was built in.
fn build() -> Result<(PathBuf, PathBuf), String> {
    // .../target/PROFILE/deps/vtc-0123456789abcdef
    let program = env::current_exe().map_err(|why| format!("this program's path: {why}"))?;
    let folder = program
        .ancestors()
        .nth(2)
        .ok_or("this program is not in a target folder")?;
    let target = folder
        .parent()
        .ok_or("this program is not in a target folder")?;
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        Some("debug") => "dev",
        Some(name) => name,
        None => return Err(format!("{} is no folder of cargo's", folder.display())),
    };
    let status = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
        // With a test among the targets, the dependencies are those that cargo has just compiled.
        .args(["build", "--quiet", "--workspace", "--lib", "--bins"])
        .args(["--test", "vtc"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .map_err(|why| format!("cargo build: {why}"))?;
    if !status.success() {
        return Err("the module does not build".into());
    }
    Ok((folder.join("libvmod_dynamic.so"), folder.join("testdns")))
}

/// Starts a command and waits for its end, at most `limit`.
fn watch(mut command: Command, limit: Duration) -> Result<ExitStatus, String> {
    let mut child = command
        .spawn()
        .map_err(|why| format!("{}: {why}", command.get_program().display()))?;
    let group = child.id();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait()));
    if let Ok(status) = receiver.recv_timeout(limit) {
        return status.map_err(|why| format!("waiting for the runner: {why}"));
    }
    kill(&[format!("-{group}")]);
    Err(format!("no end after {} s", limit.as_secs()))
}

/// Waits for everything that bears `mark` to end, kills what has not after `grace`, and names that.
fn sweep(mark: &str, grace: Duration) -> Vec<String> {
    let start = Instant::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return Vec::new();
        }
        if start.elapsed() >= grace {
            kill(&left.keys().map(ToString::to_string).collect::<Vec<_>>());
            return left.into_values().collect();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The processes whose environment bears `mark`, with their command lines.
fn marked(mark: &str) -> BTreeMap<u32, String> {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(entry.path().join("environ")).ok()?;
            environment
                .split(|byte| *byte == 0)
                .find(|entry| *entry == wanted.as_bytes())?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line)
                .trim_end_matches('\0')
                .replace('\0', " ");
            Some((process, line))
        })
        .collect()
}

fn kill(processes: &[String]) {
    // Some may be gone already: that is no failure.
    let _ = Command::new("sh")
        .args(["-c", "kill -s KILL -- \"$@\"", "kill"])
        .args(processes)
        .stderr(Stdio::null())
        .status();
}

/// An address of 127.0.0.0/8 for the `nth` use in the run of process `process`: runs side by side
/// get others, and none gets 127.0.0.x.
fn loopback(process: u32, nth: usize) -> Ipv4Addr {
    let octet = |number: u32| u8::try_from(number % 254 + 1).unwrap_or(1);
    let nth = u32::try_from(nth).unwrap_or(0);
    Ipv4Addr::new(127, octet(process), octet(process / 254), octet(nth))
}

/// A port that is free for UDP and TCP on `address`.
fn free_place(address: Ipv4Addr) -> io::Result<SocketAddrV4> {
    let mut tries = 0;
    loop {
        let listener = TcpListener::bind((address, 0))?;
        let port = listener.local_addr()?.port();
        match UdpSocket::bind((address, port)) {
            Ok(_) => return Ok(SocketAddrV4::new(address, port)),
            Err(why) if tries == 20 => return Err(why),
            Err(_) => tries += 1,
        }
    }
}

/// The example itself, or, where it names a file that an operator makes first, a
/// copy that finds it here.
fn furnish(example: &Path, folder: &Path) -> io::Result<PathBuf> {
    const KEYS: &str = "/etc/varnish/session.keys";
    let text = fs::read_to_string(example)?;
    if !text.contains(&format!("\"{KEYS}\"")) {
        return Ok(example.to_owned());
    }
    let keys = folder.join("session.keys");
    fs::write(&keys, format!("{}\n", "0123456789abcdef".repeat(4)))?;
    let copy = folder.join("example.vcl");
    fs::write(&copy, text.replace(KEYS, &keys.display().to_string()))?;
    Ok(copy)
}

/// A VTC that loads a VCL as an operator would, and discards it.
fn load(example: &Path) -> String {
    let example = example.display();
    format!(
        "vtest \"{example} loads\"\n\
         varnish v1 -arg \"-p vmod_path=${{vmod_path}}\" -cliok \"vcl.load boot {example}\" \
         -cliok \"vcl.use boot\" -cliok \"vcl.load example {example}\" -start\n\
         varnish v1 -cliok \"vcl.use example\" -cliok \"vcl.discard boot\" -cliok \"status\"\n"
    )
}

/// What of a log tells why: the lines with which the runner marks a failure, what the test was at, and the end.
fn digest(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains(NOISE)).collect();
    let start = lines.len().saturating_sub(TAIL);
    let mut text = String::new();
    for line in lines.iter().filter(|line| line.starts_with("---- ")) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(line) = lines
        .iter()
        .rfind(|line| line.starts_with("**   top   ==="))
    {
        let _ = writeln!(text, "{line}");
    }
    if start > 0 {
        let _ = writeln!(text, "[... {start} lines ...]");
    }
    for line in lines.iter().skip(start) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The files of a folder with that extension, in order; none where the folder is not there.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|has| has == extension))
        .collect();
    found.sort();
    Ok(found)
}

fn stem(file: &Path) -> String {
    file.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn number(variable: &str, otherwise: usize) -> Result<usize, String> {
    match env::var(variable) {
        Err(_) => Ok(otherwise),
        Ok(text) => match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!(
                "{variable} is '{text}': it takes a whole number above 0"
            )),
        },
    }
}
