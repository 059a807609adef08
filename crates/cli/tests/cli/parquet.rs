//! Parquet files of scans, visits and questions of DNS.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use linerate_lab::{Host, disk};
use parquet::file::reader::{FileReader, SerializedFileReader};
use tempfile::{TempDir, tempdir};

use crate::mirrored::{answering, lab, mirror, wait_for_rows};
use crate::support::{Finished, LINERATE, files, finish, linerate, start, text, wait};

/// The columns of a Parquet file, each as its schema has it, and its rows, the values of each with commas between.
fn read(file: &Path) -> (Vec<String>, BTreeSet<String>) {
    let reader = SerializedFileReader::new(File::open(file).expect("a file")).expect("Parquet");
    let schema = reader.metadata().file_metadata().schema_descr();
    let column = |column: &parquet::schema::types::ColumnDescPtr| {
        let logical =
            column.logical_type_ref().map_or_else(String::new, |kind| format!("{kind:?}"));
        let name = logical.split(['{', '(', ' ']).next().unwrap_or_default().to_owned();
        format!("{} {} {name}", column.path(), column.physical_type())
    };
    let columns = schema.columns().iter().map(column).collect();
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .expect("rows")
        .map(|row| {
            let row = row.expect("a row");
            row.get_column_iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(",")
        })
        .collect();
    let all: BTreeSet<_> = rows.iter().cloned().collect();
    assert_eq!(all.len(), rows.len(), "each answer once");
    (columns, all)
}

fn command(host: &Host, name: &str, args: &[&str]) -> Command {
    let mut command = host.command(LINERATE);
    command.args([name, "-i", host.interface(), "--allow-reserved"]).args(args);
    command.stdin(Stdio::null());
    command
}

fn run(host: &Host, name: &str, args: &[&str]) -> Finished {
    finish(&mut command(host, name, args))
}

/// A folder, a file of rows in it, and one of metadata.
fn place() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempdir().expect("a folder");
    let path = |name| folder.path().join(name);
    let (rows, meta) = (path("rows.parquet"), path("meta.json"));
    (folder, rows, meta)
}

#[test]
fn columns_have_the_types_of_their_fields() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &["-p", "80", "--one-of", "2"]);
    let (folder, rows, _) = place();
    let a = lab.host("a");
    let fields = "time,address,port,class,success,rtt_us";
    let args = ["-p", "80", "--cooldown", "1s", "--fields", fields, "-o", text(&rows)];
    run(a, "scan", &[&args[..], &["10.64.0.0/26"]].concat()).success();
    assert_eq!(files(folder.path()), ["rows.parquet"]);
    let (columns, found) = read(&rows);
    assert_eq!(
        columns,
        [
            "\"time\" INT64 Timestamp",
            "\"address\" BYTE_ARRAY String",
            "\"port\" INT64 ",
            "\"class\" BYTE_ARRAY String",
            "\"success\" BOOLEAN ",
            "\"rtt_us\" INT64 ",
        ]
    );
    let of_target = |row: &String| row.split(',').skip(1).take(4).collect::<Vec<_>>().join(",");
    let expected: BTreeSet<_> =
        answering(64, 2).iter().map(|address| format!("\"{address}\",80,\"open\",true")).collect();
    assert_eq!(found.iter().map(of_target).collect::<BTreeSet<_>>(), expected, "{found:?}");

    // A file that is there is replaced, by one without rows if there are none.
    let args = ["--own", "10.0.0.99", "-p", "80", "--cooldown", "1s", "-o", text(&rows)];
    let filter = ["--output-filter", "data ~ nginx", "10.64.0.0/28"];
    run(a, "connect", &[&args[..], &["--time", "50ms"], &filter].concat()).success();
    let (columns, found) = read(&rows);
    assert_eq!((columns.len(), found.len()), (9, 0), "{columns:?}");

    let fields = ["--fields", "name,authoritative,answers", "a.example", "b.example"];
    let args = ["-s", "10.64.0.1,10.64.0.2,10.64.0.3", "-o", text(&rows)];
    run(a, "dns", &[&args[..], &["--retries", "20"], &fields].concat()).success();
    let (columns, found) = read(&rows);
    assert_eq!(columns[2], "\"answers.list.element\" BYTE_ARRAY String");
    let row = |name| format!("\"{name}\",false,[\"A 192.0.2.1\"]");
    assert_eq!(found, [row("a.example"), row("b.example")].into());
    mirror.interrupt().success();
}

#[test]
fn a_run_that_was_killed_and_then_stopped_goes_on_to_a_whole_file() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let (folder, rows, meta) = place();
    let lines = folder.path().join("rows.parquet.jsonl");
    let a = lab.host("a");
    let args = ["--own", "10.0.0.99", "-p", "80", "-r", "1000", "--cooldown", "1s", "--time", "1s"];
    let kept = ["--request", "http", "-o", text(&rows), "--metadata", text(&meta), "10.64.0.0/20"];
    let args = [&args[..], &kept].concat();

    let child = start(command(a, "connect", &args));
    wait_for_rows(&lines, 500);
    drop(child);
    assert_eq!(files(folder.path()), ["meta.json", "rows.parquet.jsonl"]);
    let anew = run(a, "connect", &args);
    assert!(anew.code() == 2 && anew.stderr.contains("--resume it goes on"), "{anew:?}");

    let resumed = [&args[..], &["--resume"]].concat();
    let child = start(command(a, "connect", &resumed));
    wait_for_rows(&lines, 1_500);
    child.interrupt().expect("running");
    let stopped = wait(child).success();
    assert!(stopped.stderr.contains("rows.parquet.jsonl is for --resume"), "{stopped:?}");
    let (_, some) = read(&rows);
    assert!((1_500..4_096).contains(&some.len()), "{}", some.len());

    run(a, "connect", &resumed).success();
    let (_, all) = read(&rows);
    assert!(all.len() == 4_096 && all.is_superset(&some), "{}", all.len());
    assert_eq!(files(folder.path()), ["meta.json", "rows.parquet"]);
    mirror.interrupt().success();
}

#[test]
fn a_file_for_which_there_was_no_room_is_made_when_there_is() {
    let Some(lab) = lab() else { return };
    let mirror = mirror(&lab, &[]);
    let (folder, rows, _) = place();
    let other = tempdir().expect("a folder");
    let meta = other.path().join("meta.json");
    let (lines, ballast) =
        (folder.path().join("rows.parquet.jsonl"), folder.path().join("ballast"));
    let a = lab.host("a");
    let args = ["-p", "80", "--cooldown", "5s", "-o", text(&rows), "--metadata", text(&meta)];
    let args = [&args[..], &["10.64.0.0/24"]].concat();
    disk::with_small_disk(folder.path(), 1 << 20, || {
        let scan = start(command(a, "scan", &args));
        wait_for_rows(&lines, 256);
        assert!(fs::write(&ballast, vec![0; 1 << 20]).is_err(), "the disk is full");
        let stopped = wait(scan);
        assert_eq!(stopped.code(), 1, "{stopped:?}");
        for word in ["No space left", "all rows are in", "rows.parquet.jsonl", "--resume"] {
            assert!(stopped.stderr.contains(word), "{word}: {stopped:?}");
        }
        assert_eq!(files(folder.path()), ["ballast", "rows.parquet.jsonl"]);
        fs::remove_file(&ballast).expect("removed");
        let done = run(a, "scan", &[&args[..], &["--resume"]].concat()).success();
        assert_eq!(done.summary("probes sent"), 0);
        assert_eq!(read(&rows).1.len(), 256);
        assert_eq!(files(folder.path()), ["rows.parquet"]);
    })
    .expect("a small disk");
    mirror.interrupt().success();
}

#[test]
fn what_cannot_be_a_parquet_file_is_refused_in_words() {
    let folder = tempdir().expect("a folder");
    let folder = text(folder.path());
    for (args, word) in [
        (&["--format", "parquet"][..], "name it by --output"),
        (&["--format", "parquet", "-o", "-"], "name it by --output"),
        (&["--format", "parquet", "-o", folder], "is no file"),
        (&["-o", "-", "--resume", "--metadata", "/nowhere"], "standard output"),
    ] {
        for command in [
            &["scan", "-p", "80", "10.0.0.1"][..],
            &["connect", "-p", "80", "--own", "127.0.0.9", "10.0.0.1"],
            &["dns", "-s", "127.0.0.1", "a.example"],
        ] {
            let done = linerate([command, &["-i", "lo", "--allow-reserved"], args].concat());
            assert!(done.code() == 2 && done.stderr.contains(word), "{args:?}: {done:?}");
        }
    }
}
