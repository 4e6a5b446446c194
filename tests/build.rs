//! What names a build of the module, and what makes cargo build it again.

#[path = "../build/sources.rs"]
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use sources::{EngineFiles, SOURCES, id, watch};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A folder of this test alone, with a small source tree.
struct Tree(PathBuf);

impl Tree {
    fn new(test: &str) -> std::io::Result<Self> {
        let root = std::env::temp_dir().join(format!("build-{test}-{}", std::process::id()));
        let tree = Tree(root);
        tree.write("src/lib.rs", "one")?;
        tree.write("src/deep/er.rs", "two")?;
        tree.write("vmod.vcc", "three")?;
        Ok(tree)
    }

    fn write(&self, name: &str, content: &str) -> std::io::Result<()> {
        let file = self.0.join(name);
        fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
        fs::write(file, content)
    }

    fn id(&self) -> std::io::Result<String> {
        id(&self.0, &["vmod.vcc", "src"], &["1.0"])
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_same_sources_have_the_same_id_wherever_they_are() -> Outcome {
    let (here, there) = (Tree::new("here")?, Tree::new("there")?);
    let name = here.id()?;
    assert_eq!(name, there.id()?);
    assert_eq!(name.len(), 64);
    assert!(name.bytes().all(|byte| byte.is_ascii_hexdigit()));
    // Nor does it matter in what order they were named, or what an editor keeps beside them.
    here.write("src/.lib.rs.swp", "half")?;
    assert_eq!(name, id(&here.0, &["src", "vmod.vcc"], &["1.0"])?);
    Ok(())
}

#[test]
fn any_change_of_a_source_is_another_id() -> Outcome {
    let tree = Tree::new("change")?;
    let mut seen = vec![tree.id()?];
    tree.write("src/lib.rs", "onE")?;
    seen.push(tree.id()?);
    tree.write("src/deep/er.rs", "two ")?;
    seen.push(tree.id()?);
    tree.write("src/new.rs", "")?;
    seen.push(tree.id()?);
    fs::rename(tree.0.join("src/new.rs"), tree.0.join("src/other.rs"))?;
    seen.push(tree.id()?);
    fs::remove_file(tree.0.join("src/other.rs"))?;
    fs::remove_file(tree.0.join("src/deep/er.rs"))?;
    seen.push(tree.id()?);
    seen.push(id(&tree.0, &["vmod.vcc", "src"], &["1.1"])?);
    seen.push(id(&tree.0, &["vmod.vcc", "src"], &["1.1", "tls"])?);
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
    Ok(())
}

#[test]
fn the_sources_that_make_the_module_are_there_and_count() -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for needed in ["src", "core/src", "resolve/src", "vmod.vcc", "Cargo.lock"] {
        assert!(SOURCES.contains(&needed), "{needed}");
    }
    for source in SOURCES {
        assert!(root.join(source).exists(), "{source}");
    }
    assert_eq!(id(root, SOURCES, &[])?, id(root, SOURCES, &[])?);
    Ok(())
}

#[test]
fn a_change_of_the_sources_or_of_the_engine_in_place_builds_again() {
    let engine = EngineFiles {
        headers: vec!["/e/include/one".into(), "/e/include/two".into()],
        pkg_config: "/e/lib/pkgconfig/e.pc".into(),
        vmodtool: "/e/share/vmodtool.py".into(),
    };
    let lines = watch(Path::new("/module"), &engine);
    for path in [
        "/e/include/one",
        "/e/include/two",
        "/e/lib/pkgconfig/e.pc",
        "/e/share/vmodtool.py",
        "/module/core/src",
        "/module/src",
        "/module/vmod.vcc",
    ] {
        assert!(
            lines.contains(&format!("cargo:rerun-if-changed={path}")),
            "{path}"
        );
    }
    assert!(lines.contains(&"cargo:rerun-if-env-changed=ENGINE_VERSION".to_owned()));
}
