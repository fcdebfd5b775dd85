//! Room `repair`: from the causes of a failure to patches that were checked (design §10).

pub mod source;
