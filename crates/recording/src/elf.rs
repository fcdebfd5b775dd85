//! Sections of a 64-bit ELF file, found by name. Nothing of the file is trusted.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// More than any section that we make; a damaged file must not ask for all memory.
const MOST: u64 = 8 << 30;

/// The content of all sections of that name, one after the other; `None` if this is no such file.
pub fn section(path: &Path, name: &str) -> std::io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = [0; 64];
    if file.read_exact(&mut head).is_err() || head[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let table = u64_at(&head, 0x28);
    let (entry, count, names) = (u16_at(&head, 0x3a), u16_at(&head, 0x3c), u16_at(&head, 0x3e));
    if entry < 64 {
        return Ok(None);
    }
    let size = u64::from(entry) * u64::from(count);
    let Some(headers) = read(&mut file, table, size, length)? else { return Ok(None) };
    let headers: Vec<&[u8]> = headers.chunks_exact(usize::from(entry)).collect();
    let Some(strings) = headers.get(usize::from(names)) else { return Ok(None) };
    let (at, size) = (u64_at(strings, 0x18), u64_at(strings, 0x20));
    let Some(strings) = read(&mut file, at, size, length)? else { return Ok(None) };
    let mut found = Vec::new();
    for header in headers {
        let start = u32_at(header, 0) as usize;
        let own = strings.get(start..).and_then(|s| s.split(|&b| b == 0).next());
        if own != Some(name.as_bytes()) {
            continue;
        }
        match read(&mut file, u64_at(header, 0x18), u64_at(header, 0x20), length)? {
            Some(content) => found.extend(content),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

fn read(file: &mut File, at: u64, size: u64, length: u64) -> std::io::Result<Option<Vec<u8>>> {
    if size > MOST || at.checked_add(size).is_none_or(|end| end > length) {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; size as usize];
    file.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
