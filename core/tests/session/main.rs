//! Session affinity, seen from outside.

mod allocation;
mod random;
mod seal;
mod settings;
mod table;
mod vectors;
