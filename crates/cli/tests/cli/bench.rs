//! Benches, the shortest part of the longest: that its figures are there, not what they are.

use linerate_lab::need;

use crate::support::*;

#[test]
fn a_bench_of_sending_keeps_rates_and_says_how_well() {
    if !need::root() {
        return;
    }
    let done =
        linerate(["bench", "send", "--quick", "--json", "--only", "pacing", "--only", "live"]);
    let rows: Vec<serde_json::Value> =
        done.success().stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for rate in [100_000, 250_000, 1_000_000, 2_500_000] {
        for figure in ["mean rate off by", "median gap", "99 % of gaps up to"] {
            let case = format!("paced, {rate} packets/s, {figure}");
            let row = rows.iter().find(|row| row["case"] == case.as_str());
            let row = row.unwrap_or_else(|| panic!("no {case} in {rows:?}"));
            assert_eq!(
                (&row["experiment"], row["subject"].as_str()),
                (&"send".into(), Some("live template"))
            );
            assert!(row["value"].as_f64().unwrap() >= 0.0, "{row}");
        }
    }
    assert_eq!(rows.len(), 12);
}
