//! What the engine and VCL call: the function table and the functions in it.
//!
//! Raw arguments come in, safe calls go out, each behind the panic boundary.
//! Together with [`crate::vrt`] this is the only unsafe code.

mod buckets;
mod custom_service;
mod director;
mod event;
mod object;
mod resolver;
mod session;
mod table;

pub use table::Vmod_dynamic_Data;
