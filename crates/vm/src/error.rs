//! Why the VM could not start. (How a *program* fails is an `Outcome`, never an error.)

#[derive(Debug, thiserror::Error)]
pub enum VmError {
    #[error("cannot reserve {bytes} bytes of address space for the program's memory")]
    Map { bytes: u64, source: std::io::Error },
    #[error("the program has no function main")]
    NoMain,
    #[error("cannot load library '{name}': {message}")]
    Library { name: String, message: String },
    #[error("a virtual machine exists already in this process")]
    AlreadyExists,
}
