//! `vmod_dynamic`: dynamic backends for Varnish Cache and Vinyl Cache.
//!
//! This crate is the shell around `dynamic-core`, which holds the rules, and
//! `dynamic-resolve`, which asks name servers. Calls come in through [`vmod`],
//! which with [`vrt`] is the only unsafe code; [`director`] and [`domain`] hold
//! what a request reads, [`refresh`] is the thread that keeps it current, and [`lifetime`] ties
//! both to the temperature of each VCL.
#![deny(unsafe_code)]

mod buckets;
mod clock;
mod custom_service;
mod director;
mod domain;
mod lifetime;
mod refresh;
mod resolver;
mod session;
mod sync;
mod task;
mod vcl;
#[allow(unsafe_code, reason = "the functions that the engine and VCL call")]
mod vmod;
#[allow(unsafe_code, reason = "the bridge to the engine's C interface")]
mod vrt;

pub use vmod::Vmod_dynamic_Data;
