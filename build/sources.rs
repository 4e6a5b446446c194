//! What the build watches, and what names a build. Shared by `build.rs` and
//! its tests.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The files and folders whose content becomes part of the module.
pub(crate) const SOURCES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "build",
    "build.rs",
    "core/Cargo.toml",
    "core/src",
    "resolve/Cargo.toml",
    "resolve/src",
    "src",
    "vmod.vcc",
];

/// The id of a module made of these sources under `root`, as 64 hexadecimal
/// digits.
///
/// `conditions` are texts that also decide what the code is: the version, the
/// profile, the compiler. The id depends on the names below `root` and on the
/// content, not on where `root` is or when a file was written.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn id(root: &Path, sources: &[&str], conditions: &[&str]) -> io::Result<String> {
    let mut digest = Sha256::new();
    // Lengths in front, so that no two lists of texts look the same.
    let mut add = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    add(&(conditions.len() as u64).to_le_bytes());
    for condition in conditions {
        add(condition.as_bytes());
    }
    let mut files = Vec::new();
    for source in sources {
        collect(&root.join(source), &mut files)?;
    }
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|file| {
            let name = file.strip_prefix(root).unwrap_or(&file);
            (name.to_string_lossy().into_owned(), file)
        })
        .collect();
    named.sort();
    for (name, file) in named {
        add(name.as_bytes());
        add(&fs::read(file)?);
    }
    let mut text = String::new();
    for byte in digest.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Adds `path`, or all files below it. Hidden files are an editor's.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}

/// What of an engine the bindings are made from: folders of headers, the file
/// of pkg-config, `vmodtool.py`. A change of any gives new bindings.
#[derive(Debug)]
pub(crate) struct EngineFiles {
    /// The folders of the engine's headers.
    pub(crate) headers: Vec<PathBuf>,
    /// The engine's `.pc` file.
    pub(crate) pkg_config: PathBuf,
    /// The engine's `vmodtool.py`.
    pub(crate) vmodtool: PathBuf,
}

/// Lines for cargo that let the build run again when a source or the engine
/// changes.
pub(crate) fn watch(root: &Path, engine: &EngineFiles) -> Vec<String> {
    SOURCES
        .iter()
        .map(|source| root.join(source))
        .chain(engine.headers.iter().cloned())
        .chain([engine.pkg_config.clone(), engine.vmodtool.clone()])
        .map(|path| format!("cargo:rerun-if-changed={}", path.display()))
        // The files of a package keep the time of their making, which may be
        // before this build: the version tells more.
        .chain(
            ["ENGINE", "ENGINE_VERSION", "PKG_CONFIG_PATH"]
                .iter()
                .map(|variable| format!("cargo:rerun-if-env-changed={variable}")),
        )
        .collect()
}
