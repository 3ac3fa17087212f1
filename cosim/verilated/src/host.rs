//! The bridge to the C++ class that holds a loaded RTL library.

#[cxx::bridge(namespace = "nicstep")]
pub mod ffi {
    unsafe extern "C++" {
        include!("host.h");

        /// One instance of the RTL.
        type Host;

        /// Loads a library and makes an instance.
        fn open_host(path: &str, random: bool, seed: i32) -> Result<UniquePtr<Host>>;

        fn input_words(self: &Host) -> u32;
        fn expected_words(self: &Host) -> u32;
        fn memories(self: &Host) -> u32;
        fn reset(self: Pin<&mut Host>, level: bool);
        fn step(self: Pin<&mut Host>, inputs: &[u32], expected: &[u32]) -> i64;
        fn follow(self: Pin<&mut Host>, log: &[u32], n: usize) -> i64;
        fn run(self: Pin<&mut Host>, inputs: &[u32], stride: usize, n: usize) -> i64;
        fn settle(self: Pin<&mut Host>, inputs: &[u32]) -> i64;
        fn read(self: &Host, image: &mut [u32]);
        fn expected(self: &Host, image: &mut [u32]);
        fn expect(self: Pin<&mut Host>, image: &[u32]);
        fn load(self: Pin<&mut Host>, image: &[u32]);
        fn read_memory(self: &Host, index: u32, words: &mut [u32]);
        fn load_memory(self: Pin<&mut Host>, index: u32, words: &[u32]);
        fn assertions(self: Pin<&mut Host>, on: bool);
        fn error(self: Pin<&mut Host>) -> String;
    }
}
