//! The kernel's helper functions (`linux/bpf.h`, Linux 6.18).

/// Makes the constants, and the table of their names.
macro_rules! helpers {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// Numbers of the kernel's helper functions, for [`Instruction::call`](super::Instruction::call).
        pub mod helper {
            $($(#[$doc])* pub const $name: i32 = $number;)*
        }

        /// The helper function's name, if it is one of [`helper`].
        pub(super) fn name(number: i32) -> Option<&'static str> {
            match number {
                $($number => Some($text),)*
                _ => None,
            }
        }
    };
}

helpers! {
    /// R0 = address of the element of the map R1 whose key R2 points to, or 0.
    MAP_LOOKUP_ELEM = 1, "bpf_map_lookup_elem";
    /// Sets the element of the map R1 whose key R2 points to, to what R3 points to; flags R4; R0 = 0, or negative.
    MAP_UPDATE_ELEM = 2, "bpf_map_update_elem";
    /// R0 = `CLOCK_MONOTONIC` in nanoseconds.
    KTIME_GET_NS = 5, "bpf_ktime_get_ns";
    /// R0 = number of the CPU that runs the program.
    GET_SMP_PROCESSOR_ID = 8, "bpf_get_smp_processor_id";
    /// R0 = the verdict that sends the packet to the interface with index R1; flags R2.
    REDIRECT = 23, "bpf_redirect";
    /// Copies R4 bytes at offset R2 of the socket buffer R1 to R3; R0 = 0, negative past the end.
    SKB_LOAD_BYTES = 26, "bpf_skb_load_bytes";
    /// R0 = the verdict that sends the frame where the map R1 has it at key R2; R3 is the verdict
    /// where it has nothing.
    REDIRECT_MAP = 51, "bpf_redirect_map";
    /// Moves the beginning of the metadata before the frame of the context R1 by R2 bytes; R0 = 0,
    /// or negative. Packet addresses must be loaded anew.
    XDP_ADJUST_META = 54, "bpf_xdp_adjust_meta";
    /// Moves the end of the frame of the context R1 by R2 bytes; R0 = 0, or negative. Packet addresses must be
    /// loaded anew.
    XDP_ADJUST_TAIL = 65, "bpf_xdp_adjust_tail";
    /// Copies R2 bytes of the kernel's memory at R3 to R1; R0 = 0, negative where there is none, and then zeroes.
    PROBE_READ_KERNEL = 113, "bpf_probe_read_kernel";
    /// R0 = the kernel's ticks.
    JIFFIES64 = 118, "bpf_jiffies64";
    /// Appends R3 bytes at R2 to what an iterator writes, R1; R0 = 0, negative if it is full.
    SEQ_WRITE = 127, "bpf_seq_write";
    /// Copies R3 bytes at R2 into the ring buffer R1; flags R4; R0 = 0, negative if it is full.
    RINGBUF_OUTPUT = 130, "bpf_ringbuf_output";
    /// R0 = length of the frame of the context R1, all its buffers.
    XDP_GET_BUFF_LEN = 188, "bpf_xdp_get_buff_len";
    /// Copies R4 bytes at offset R2 of the frame of the context R1 to R3; R0 = 0, negative past
    /// the end.
    XDP_LOAD_BYTES = 189, "bpf_xdp_load_bytes";
    /// R0 = `CLOCK_TAI` in nanoseconds.
    KTIME_GET_TAI_NS = 208, "bpf_ktime_get_tai_ns";
}
