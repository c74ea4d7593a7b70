//! Runs a scenario file without Python around it, for profilers:
//! `cargo run --release --example profile -- FILE [SCHEME [THREADS [SEED [PARTS]]]]`; with 0
//! parts it chooses as `midpath run` does.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read_to_string(&args[0]).expect("a scenario file");
    let options = midpath_sim::RunOptions {
        scheme: args.get(1).cloned(),
        seed: args.get(3).and_then(|s| s.parse().ok()),
        threads: args.get(2).map_or(1, |t| t.parse().expect("a number")),
        parts: args.get(4).map_or(0, |t| t.parse().expect("a number")),
        sparing: args.get(4).is_some_and(|parts| parts == "0"),
        wire: false,
        flows_optional: false,
    };
    let base = std::path::Path::new(&args[0]).parent().unwrap_or(std::path::Path::new("."));
    match midpath_sim::run_text(&text, base, &options, &mut |_| true) {
        Ok(Some(out)) => {
            let r = &out.run;
            println!(
                "{} hops {} {:.2} Mhop/s wall {} events {} mem {} inv {}",
                r["scheme"],
                r["packet_hops"],
                r["hops_per_s"].as_f64().unwrap_or(0.0) / 1e6,
                r["wall_s"],
                r["events"],
                r["memory_bytes"],
                r["invariants"]
            );
            let survey = out.survey;
            println!("{} threads, parts: {survey:?}, {:.2} times as fast at most", r["threads"], survey.at_most());
            println!("{}", out.run["summary"]);
            println!("{:?}", out.table("flows").map(|t| t.f64("fct_s").iter().take(6).copied().collect::<Vec<_>>()));
        }
        Ok(None) => println!("cancelled"),
        Err(e) => {
            eprintln!("{}: {e}", args[0]);
            std::process::exit(2)
        }
    }
}
