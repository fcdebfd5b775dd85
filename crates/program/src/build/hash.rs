//! FNV-1a: fingerprints that are the same on every machine and in every version. They tell apart
//! what changed by accident; they do not withstand someone who wants two contents to agree.

/// 64 bits, of a file's content or a bitcode.
pub fn bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// 128 bits, for the names of cache entries.
pub fn wide(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    /// The vectors of the algorithm's authors.
    #[test]
    fn published_vectors() {
        assert_eq!(super::bytes(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::bytes(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(super::wide(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(super::wide(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
