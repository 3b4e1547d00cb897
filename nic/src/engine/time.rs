//! Times that the specification encodes in a few bits.

/// The nanoseconds of a "receiver not ready" timer code: from 10 us (1) to 491 ms (31); 0 means 655 ms.
pub fn rnr(code: u8) -> u64 {
    const HUNDREDTHS: [u64; 32] = [
        65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
        1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
    ];
    HUNDREDTHS[usize::from(code & 31)] * 10_000
}

/// How long a peer may be silent, in nanoseconds: 4.096 us · 2^timeout for each try; `u64::MAX` if the
/// timeout is 0. It is at least half a second, because a process that was only not scheduled is not gone.
pub fn patience(timeout: u8, retries: u8) -> u64 {
    const LEAST: u64 = 500_000_000;
    match timeout & 31 {
        0 => u64::MAX,
        exponent => ((4096_u64 << exponent) * (u64::from(retries & 7) + 1)).max(LEAST),
    }
}

#[cfg(test)]
mod tests {
    use super::{patience, rnr};

    #[test]
    fn codes_are_the_specification_s() {
        assert_eq!((rnr(0), rnr(1), rnr(12), rnr(31)), (655_360_000, 10_000, 640_000, 491_520_000));
        assert_eq!(patience(0, 7), u64::MAX);
        assert_eq!(patience(17, 7), (4096 << 17) * 8);
        assert_eq!(patience(1, 0), 500_000_000);
    }
}
