//! C programs, compiled with the system's header and linked with the system's library, that say the same
//! with ours in its place.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use linerate_lab::need;
use tempfile::TempDir;

use crate::library;

/// What is needed to compile programs; where it is missing the test skips aloud.
pub(crate) fn can_compile() -> bool {
    need::program("gcc", "gcc") && need::file("/usr/include/pcap/pcap.h", "libpcap-dev")
}

/// Where libpcap's header is that is made from our code.
pub(crate) fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The program, compiled with the system's header and linked with the system's library.
pub(crate) fn compiled(name: &str, folder: &Path) -> PathBuf {
    compile(name, folder, &["-lpcap".as_ref()])
}

/// The same by our header.
pub(crate) fn compiled_by_ours(name: &str, folder: &Path) -> PathBuf {
    compile(name, folder, &["-I".as_ref(), include().as_os_str(), "-lpcap".as_ref()])
}

/// The program, compiled and linked with these arguments.
pub(crate) fn compile(name: &str, folder: &Path, arguments: &[&OsStr]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let program = folder.join("program");
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-pthread", "-o"]);
    let output = gcc.arg(&program).arg(source).args(arguments).output().expect("gcc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Runs a program by the library in a folder, or by the system's.
fn run(program: &Path, argument: &Path, library: Option<&Path>) -> Output {
    let mut command = Command::new(program);
    // Tests run with the folders of what was built there.
    command.arg(argument).env_remove("LD_LIBRARY_PATH");
    if let Some(library) = library {
        command.env("LD_LIBRARY_PATH", library).env("LD_BIND_NOW", "1");
    }
    command.output().expect("the program runs")
}

/// Compiles a program, by its name, into a folder.
type Compile = fn(&str, &Path) -> PathBuf;

/// Runs the program by both libraries, and by ours with our header, on a file of its own with this content, and compares what it prints.
fn prints_the_same(name: &str, content: &str) {
    if !can_compile() {
        return;
    }
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    let ours = Some(library.path());
    let ways: [(Compile, _); 3] = [(compiled, None), (compiled, ours), (compiled_by_ours, ours)];
    let [system, ours, by_header] = ways.map(|(compiled, library)| {
        let program = compiled(name, folder.path());
        let file = folder.path().join("file");
        fs::write(&file, content).expect("written");
        let output = run(&program, &file, library);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{library:?}: {:?}\n{text}{errors}", output.status);
        text
    });
    assert_same(&system, &ours);
    assert_same(&system, &by_header);
}

#[test]
fn our_header_declares_what_libpcaps_does() {
    if can_compile() {
        let folder = TempDir::new().expect("a folder");
        let header = format!("-DLINERATE_HEADER=\"{}\"", include().join("pcap/pcap.h").display());
        compile("header.c", folder.path(), &[header.as_ref(), "-lpcap".as_ref()]);
    }
}

/// Fails at the first line that our library has other than the system's.
pub(crate) fn assert_same(system: &str, ours: &str) {
    for (line, (system, ours)) in system.lines().zip(ours.lines()).enumerate() {
        assert_eq!(ours, system, "line {}", line + 1);
    }
    assert_eq!(ours.lines().count(), system.lines().count());
}

#[test]
fn names_are_the_same() {
    prints_the_same(
        "names.c",
        "# ethers\n02:00:00:00:00:01 gateway # comment\n\n2:0:0:0:0:a other\n",
    );
}

#[test]
fn filters_say_the_same() {
    prints_the_same("filter.c", "");
}

#[test]
fn savefiles_are_the_same() {
    prints_the_same("savefile.c", "");
}

/// The system's library would crash at much of it.
#[test]
fn what_is_called_wrongly_fails_and_does_no_harm() {
    if !can_compile() {
        return;
    }
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    let program = compiled("misuse.c", folder.path());
    let output = run(&program, folder.path(), Some(library.path()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn memory_is_used_as_it_should_be() {
    if !can_compile() || !need::program("valgrind", "valgrind") {
        return;
    }
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    for name in ["savefile.c", "filter.c", "names.c", "misuse.c"] {
        let program = compiled(name, folder.path());
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["-q", "--error-exitcode=99", "--leak-check=full"]);
        valgrind.arg("--errors-for-leak-kinds=definite").arg(&program).arg(&file);
        valgrind.env("LD_LIBRARY_PATH", library.path());
        let output = valgrind.output().expect("valgrind runs");
        assert_ne!(
            output.status.code(),
            Some(99),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
