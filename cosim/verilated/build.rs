//! Compiles the C++ class that holds a loaded function table.

fn main() {
    cxx_build::bridge("src/host.rs")
        .file("src/host.cc")
        .include("src")
        .std("c++17")
        .compile("verilated-host");
    println!("cargo:rerun-if-changed=src/host.cc");
    println!("cargo:rerun-if-changed=src/host.h");
    println!("cargo:rerun-if-changed=src/table.h");
    println!("cargo:rustc-link-lib=dl");
}
