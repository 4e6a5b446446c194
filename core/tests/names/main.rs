//! Names, the schedule of their lookups and the members that these give, seen
//! from outside.

mod membership;
mod name;
mod schedule;
