//! Builds the bridge to the engine: `vmodtool.py` on `vmod.vcc`, bindgen on
//! the engine's headers and on the function table that vmodtool declares.
//!
//! The Rust side fills that table field by field, so a function that is
//! missing, or has other argument types than `vmod.vcc` says, does not compile.

#[path = "build/sources.rs"]
mod sources;

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sources::EngineFiles;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The headers that the module sees, in the order that the engine wants.
const WRAPPER: &str = r#"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <pthread.h>
#include <math.h>
#include <sys/types.h>
#include <sys/socket.h>
#include "cache/cache.h"
#include "cache/cache_backend.h"
#include "cache/cache_director.h"
#include "vrt_obj.h"
#include "vcl.h"
#include "vsb.h"
#include "vsa.h"
#include "vtim.h"
#include "vrnd.h"
#include "vmod_abi.h"
#include "engine.h"
#include "vcc_dynamic_table.h"
static const unsigned FIRST_HEADER = HTTP_HDR_FIRST;
"#;

/// An engine's development files, as pkg-config knows them.
struct Engine {
    files: EngineFiles,
    version: String,
    package: &'static str,
}

fn engine() -> Result<Engine> {
    let mut tried = Vec::new();
    let wanted = env::var("ENGINE").unwrap_or_default();
    for (package, at_least, product) in [
        ("varnishapi", "7.7.0", "varnish"),
        ("vinylapi", "9.0.0", "vinyl"),
    ] {
        // `make env` names the one that is in use, where both are there.
        if ["varnish", "vinyl"].contains(&wanted.as_str()) && wanted != product {
            continue;
        }
        let found = pkg_config::Config::new()
            .cargo_metadata(false)
            .atleast_version(at_least)
            .probe(package);
        match found {
            Ok(library) => {
                let folder = PathBuf::from(pkg_config::get_variable(package, "pcfiledir")?);
                return Ok(Engine {
                    files: EngineFiles {
                        headers: library.include_paths,
                        pkg_config: folder.join(format!("{package}.pc")),
                        vmodtool: pkg_config::get_variable(package, "vmodtool")?.into(),
                    },
                    version: library.version,
                    package,
                });
            }
            Err(why) => tried.push(format!("{package} >= {at_least}: {why}")),
        }
    }
    Err(format!(
        "no supported engine: pkg-config finds neither Varnish Cache 7.7 or later nor Vinyl Cache \
         9.0 or later. `make build` installs one; `make env` prints the environment to build by \
         hand.\n{}",
        tried.join("\n")
    )
    .into())
}

fn vmodtool(engine: &Engine, out: &Path) -> Result<String> {
    let vcc = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("vmod.vcc");
    let status = Command::new("python3")
        .arg(&engine.files.vmodtool)
        .args(["-o", "vcc_dynamic_if"])
        .arg(&vcc)
        .current_dir(out)
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(|e| format!("python3 {}: {e}", engine.files.vmodtool.display()))?;
    if !status.success() {
        return Err(format!(
            "{} on vmod.vcc failed: {status}",
            engine.files.vmodtool.display()
        )
        .into());
    }
    let generated = fs::read_to_string(out.join("vcc_dynamic_if.c"))?;
    // The id of vmodtool's names the interface alone. The engine would take
    // two builds of it for one, and go on with the code that it has.
    let interface = between(&generated, ".file_id =\t\"", "\"")?;
    let generated = generated.replace(interface, &build_id(engine)?);
    // vrt.h refuses to follow cache.h, which includes it.
    let table: String = generated
        .lines()
        .filter(|line| {
            !matches!(
                *line,
                "#include \"config.h\"" | "#include \"vdef.h\"" | "#include \"vrt.h\""
            )
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    fs::write(out.join("vcc_dynamic_table.h"), table)?;
    Ok(generated)
}

/// Names what this build is made of: the same sources, built in the same way,
/// have the same id.
fn build_id(engine: &Engine) -> Result<String> {
    let compiler = Command::new(env::var("RUSTC")?).arg("-vV").output()?;
    let mut conditions = vec![
        env::var("CARGO_PKG_VERSION")?,
        env::var("TARGET")?,
        env::var("PROFILE")?,
        String::from_utf8(compiler.stdout)?,
        format!("{} {}", engine.package, engine.version),
    ];
    let mut features: Vec<String> = env::vars()
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("CARGO_FEATURE_"))
        .collect();
    features.sort();
    conditions.extend(features);
    let conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    Ok(sources::id(&root, sources::SOURCES, &conditions)?)
}

/// The text between two marks, both excluded.
fn between<'t>(text: &'t str, from: &str, to: &str) -> Result<&'t str> {
    let start = text
        .find(from)
        .ok_or_else(|| format!("vmodtool: no {from:?}"))?
        + from.len();
    let end = text[start..]
        .find(to)
        .ok_or_else(|| format!("vmodtool: no {to:?}"))?
        + start;
    Ok(&text[start..end])
}

/// Compiles what is C: `build/engine.c`, and the module's JSON description. The
/// engine's VCL compiler looks for that in the file of the module, and it holds
/// C macros of the engine.
fn compile_c(generated: &str, engine: &Engine, out: &Path) -> Result<()> {
    let json = between(generated, "static const char Vmod_Json[] = {", "\n};")?;
    let source = out.join("vmod_json.c");
    fs::write(
        &source,
        format!(
            "#include \"vmod_abi.h\"\n#define STRINGIFY3(arg) #arg\n\
             #define STRINGIFY2(arg) STRINGIFY3(#arg)\n#define STRINGIFY1(arg) STRINGIFY2(arg)\n\
             const char vmod_dynamic_json[] = {{{json}\n}};\n"
        ),
    )?;
    cc::Build::new()
        .file(&source)
        .includes(&engine.files.headers)
        .warnings(false)
        .compile("vmod_dynamic_json");
    cc::Build::new()
        .file("build/engine.c")
        .include("build")
        .includes(&engine.files.headers)
        .define("_GNU_SOURCE", None)
        .warnings(true)
        .compile("vmod_dynamic_engine");
    Ok(())
}

/// The part of `Vmod_dynamic_Data` and of the table that is text, as Rust.
fn write_constants(generated: &str, out: &Path) -> Result<()> {
    let file_id = between(generated, ".file_id =\t\"", "\"")?;
    let table = between(generated, "struct Vmod_vmod_dynamic_Func {", "};")?;
    let enums: Vec<&str> = table
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix("VCL_ENUM")?
                .trim()
                .strip_prefix("*enum_")
        })
        .filter_map(|name| name.strip_suffix(';'))
        .collect();
    let mut rust = String::new();
    writeln!(rust, "/// Names this very build of the interface.")?;
    writeln!(rust, "pub(crate) const FILE_ID: &CStr = c\"{file_id}\";")?;
    writeln!(rust, "macro_rules! with_enums {{")?;
    writeln!(
        rust,
        "    ($table:ident {{ $($field:tt)* }}) => {{ $table {{ $($field)*"
    )?;
    for name in &enums {
        writeln!(
            rust,
            "        enum_{name}: (&raw const enum_values::{name}).cast_mut().cast(),"
        )?;
    }
    writeln!(rust, "    }} }};\n}}")?;
    writeln!(
        rust,
        "/// The words that VCL may write, each by its own address."
    )?;
    writeln!(rust, "#[allow(non_upper_case_globals, missing_docs)]")?;
    writeln!(rust, "pub(crate) mod enum_values {{\n    use super::Word;")?;
    for name in &enums {
        writeln!(
            rust,
            "    pub(crate) static {name}: Word = Word::new(c\"{name}\");"
        )?;
    }
    writeln!(rust, "}}")?;
    fs::write(out.join("constants.rs"), rust)?;
    Ok(())
}

fn bindings(engine: &Engine, out: &Path) -> Result<()> {
    let builder = bindgen::Builder::default()
        .header_contents("wrapper.h", WRAPPER)
        .clang_args(engine.files.headers.iter().map(|i| format!("-I{}", i.display())))
        .clang_args([format!("-I{}", out.display()), "-Ibuild".to_owned()])
        .clang_args(["-Wno-everything", "-D_GNU_SOURCE"])
        .allowlist_function("VRT_.*|dynamic_.*|VSL|VSLb|VSLbt|VSB_.*|WS_.*|VSA_.*|VRND_.*|VTIM_real|VCL_Name|http_(GetHdr|SetHeader|Unset|CountHdr|ForceHeader)")
        .allowlist_type("Vmod_vmod_dynamic_Func|vmod_data|vrt_.*|vdi_.*|director|vcldir|backend|busyobj|req|http|vcl_event_e|VSL_tag_e|gethdr_e|suckaddr")
        .allowlist_var(".*_MAGIC|VCL_MET_.*|VMOD_ABI_Version|VCL_RET_.*|VRT_.*_VERSION|FIRST_HEADER|vsa_suckaddr_len|vrt_magic_string_.*")
        .blocklist_item("FP_.*|IPPORT_.*")
        .default_enum_style(bindgen::EnumVariation::ModuleConsts)
        .derive_default(true)
        .layout_tests(false)
        .generate_comments(false)
        .merge_extern_blocks(true)
        .wrap_unsafe_ops(true)
        .rust_edition(bindgen::RustEdition::Edition2024);
    let text = builder
        .generate()
        .map_err(|e| {
            format!(
                "bindgen on the headers of {} {}: {e}",
                engine.package, engine.version
            )
        })?
        .to_string();
    fs::write(out.join("bindings.rs"), text)?;
    Ok(())
}

fn main() -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let engine = engine()?;
    for line in sources::watch(&root, &engine.files) {
        println!("{line}");
    }
    let generated = vmodtool(&engine, &out)?;
    bindings(&engine, &out)?;
    compile_c(&generated, &engine, &out)?;
    write_constants(&generated, &out)?;
    // The engine unloads a module with its last VCL; the code of the resolver
    // thread must outlive that, so the library stays mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    Ok(())
}
