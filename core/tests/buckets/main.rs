//! Hash buckets, seen from outside.

mod allocation;
mod assignment;
mod service;
mod set;
mod shares;
mod waiting;
