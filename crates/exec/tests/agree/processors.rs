//! The same on processors that have less than this one, as qemu makes them up.

use std::process::Command;

use linerate_exec::Level;
use linerate_lab::need;

/// By qemu's names, and the best level that they have. The first has no instruction but those of the first x86-64 processors;
/// of the second, AVX2 is of no use without BMI2.
const PROCESSORS: [(&str, &str); 3] =
    [("qemu64", "portable"), ("Haswell,-bmi2", "portable"), ("Haswell", "AVX2")];

/// What takes too long there.
const SLOW: &str = "every_kind_of_expression_over_every_truncation";

#[test]
fn the_best_level_is_among_all() {
    println!("the best level: {}", Level::best());
    assert!(Level::all().any(|level| level == Level::best()));
}

#[test]
fn what_a_processor_lacks_is_done_without() {
    if !need::program("qemu-x86_64", "qemu-user") {
        return;
    }
    let tests = std::env::current_exe().expect("the path of this program");
    for (processor, best) in PROCESSORS {
        let output = Command::new("qemu-x86_64")
            .args(["-cpu", processor])
            .arg(&tests)
            .args(["--nocapture", "--skip", "what_a_processor_lacks", "--skip", SLOW])
            .env("PROPTEST_CASES", "50")
            .output()
            .expect("qemu runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let told = text.lines().any(|line| line.ends_with(&format!("the best level: {best}")));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told, "{processor}: {text}{errors}");
    }
}
