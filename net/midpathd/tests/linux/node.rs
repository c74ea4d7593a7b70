//! What a node costs, and its unit. Nodes as processes, their clients, configurations and links are in
//! `tests/python/test_node_*.py`.

use std::fs;
use std::process::Command;

use midpath_testing::ignore;

/// A short run of `measure`: every row has packets, what was asked for is what was done, and the tables
/// say the same as JSON.
fn what_a_node_costs_is_measured_by_one_command() {
    let tests = std::env::current_exe().expect("this program has a path");
    let example = tests.parent().expect("deps").with_file_name("examples").join("node_cost");
    let said = Command::new(example).args(["--seconds", "0.3", "--json"]).output().expect("it is built with the tests");
    assert!(said.status.success(), "{said:?}");
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let rows = said["packet_hops"].as_array().expect("rows");
    assert_eq!(rows.len(), 9);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert!(number("forwarded") > 10.0 && (0.05..1000.0).contains(&number("cpu_us")), "{row}");
        let of_cpu = number("cpu_s") / number("forwarded") * 1e6;
        assert!((of_cpu / number("cpu_us") - 1.0).abs() < 1e-6, "{row}");
        let (shaped, offload) = (row["load"] == "shaped", row["offload"] == true);
        // How much is kept is the machine's; a late thread gets a millisecond back at most.
        assert!(!shaped || (0.5..103.0).contains(&number("kept_percent")), "{row}");
        let together = row["datagrams_a_call"]["sent"].as_f64().expect("a mean");
        if !offload || row["gso_segments"] == 1 {
            assert!(together <= 1.0, "{row}");
        } else if !shaped {
            assert!(together > 1.5, "{row}");
        }
    }
    let wakes = said["wakes"].as_array().expect("wake-ups");
    assert_eq!(wakes.len(), 2);
    assert!(wakes[0]["p50_us"].as_f64() <= wakes[0]["p99_us"].as_f64() && wakes[0]["wakes"].as_u64() > Some(10));
    for what in ["packet_hop", "saturated", "shaped", "wakes"] {
        assert!(said["how"][what].as_str().is_some_and(|how| how.len() > 30), "{what}");
    }
}

/// What systemd says of the unit. The program that it starts is another: ours is not installed.
fn the_unit_is_one() {
    let unit = include_str!("../../dist/midpathd-node@.service").replace("/usr/local/sbin/midpathd", "/bin/true");
    let folder = std::env::temp_dir().join(format!("midpathd-unit-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("midpathd-node@a.service");
    fs::write(&path, unit).expect("it can be written");
    let verify = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output();
    fs::remove_dir_all(&folder).expect("it is ours");
    match verify {
        Ok(said) => {
            let text = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(said.status.success() && !text.contains("midpathd-node"), "{text}");
        }
        Err(_) => ignore("needs systemd-analyze"),
    }
}

midpath_testing::tests!(what_a_node_costs_is_measured_by_one_command, the_unit_is_one);
