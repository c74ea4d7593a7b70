use super::*;

const SCENARIO: &str = r#"
stop = "1 ms"
topology = { generate = "dumbbell", pairs = 1, bottleneck = { rate = "1 Gbps", delay = "1 us" }, access = { rate = "1 Gbps", delay = "1 us" } }
flow = [{ from = "s0", to = "d0", size = "1 kB" }]
"#;

/// A page that ends runs, or lets them go on.
struct Page(bool);

impl Host for Page {
    fn now(&self) -> Duration {
        Duration::from_secs(7)
    }
    fn progress(&mut self, _: Progress) -> bool {
        self.0
    }
}

/// The head of an answer and what comes after it.
fn ask(request: &Value) -> (Value, Vec<u8>) {
    open(&answer(request.to_string().as_bytes(), &mut Page(true)))
}

fn open(answer: &[u8]) -> (Value, Vec<u8>) {
    let (length, rest) = answer.split_at(4);
    let length = u32::from_le_bytes(length.try_into().expect("4 bytes")) as usize;
    assert_eq!((4 + length) % 8, 0, "buffers are aligned");
    (serde_json::from_slice(&rest[..length]).expect("JSON"), rest[length..].to_vec())
}

fn cut<'a>(body: &'a [u8], place: &Value) -> &'a [u8] {
    let number = |key: &str| place[key].as_u64().expect("a number") as usize;
    &body[number("at")..number("at") + number("bytes")]
}

#[test]
fn a_run_has_the_bytes_that_it_has_natively() {
    let (head, body) = ask(&json!({ "ask": "run", "text": SCENARIO, "scheme": "cubic", "seed": 7 }));
    let options = RunOptions { scheme: Some("cubic".into()), seed: Some(7), ..RunOptions::default() };
    let native = midpath_sim::run_text(SCENARIO, "", &options, &mut |_| true).unwrap().unwrap();
    let run: Value = serde_json::from_slice(cut(&body, &head["run"])).unwrap();
    assert_eq!(
        (&run["summary"], run["wall_s"].as_f64()),
        (&native.run["summary"], Some(0.0)),
        "the page's clock stands"
    );
    for (table, (name, expected)) in head["tables"].as_array().unwrap().iter().zip(&native.tables) {
        assert_eq!((table["name"].as_str(), table["rows"].as_u64()), (Some(&**name), Some(expected.rows() as u64)));
        for (column, (name, values)) in table["columns"].as_array().unwrap().iter().zip(&expected.columns) {
            let mut bytes = vec![0; values.bytes()];
            values.write(&mut bytes);
            assert_eq!((&column["name"], &column["kind"]), (&json!(name), &json!(values.kind())));
            assert_eq!((cut(&body, &column["place"]), &column["dictionary"]), (&*bytes, &json!(values.dictionary())));
        }
    }
}

#[test]
fn all_errors_have_line_and_key() {
    for request in ["run", "check"] {
        let wrong = SCENARIO.replace("1 ms", "1 m").replace("1 kB", "1 k");
        let (head, _) = ask(&json!({ "ask": request, "text": wrong }));
        let mut lines: Vec<_> =
            head["errors"].as_array().unwrap().iter().map(|e| (e["line"].as_u64(), &e["key"])).collect();
        lines.sort_by_key(|(line, _)| *line);
        assert_eq!(lines, [(Some(2), &json!("stop")), (Some(4), &json!("flow[0].size"))], "{request}");
    }
}

#[test]
fn a_check_gives_the_scenario_as_it_is_read() {
    for text in [SCENARIO.to_owned(), SCENARIO.replace("1 kB", "1 k")] {
        let (head, _) = ask(&json!({ "ask": "check", "text": text }));
        assert_eq!(head["scenario"]["topology"]["bottleneck"]["delay"], "1 us");
    }
    assert_eq!(ask(&json!({ "ask": "check", "text": "stop = " })).0["scenario"], Value::Null);
}

#[test]
fn what_is_no_request_is_an_error() {
    let large = vec![b' '; MAX_REQUEST + 1];
    for request in [&b"\xff"[..], b"{}", br#"{"ask":"run"}"#, br#"{"ask":"run","text":"","file":1}"#, &large] {
        let (head, body) = open(&answer(request, &mut Page(true)));
        assert_eq!((head["errors"].as_array().map(Vec::len), body.len()), (Some(1), 0));
    }
    let long = " ".repeat(MAX_SCENARIO + 1);
    assert!(ask(&json!({ "ask": "check", "text": long })).0["errors"][0]["message"].is_string());
}

#[test]
fn files_are_those_that_come_with_the_request() {
    let text = "scheme = \"cubic\"\nstop = \"1 s\"\n[topology]\nfile = \"../maps/net.gml\"\ndefault_rate = \"1 Gbps\"\n\
        default_delay = \"1 ms\"\nhosts = { per_node = 1, rate = \"1 Gbps\", delay = \"1 ms\" }\n\
        [[workload]]\nlist = { file = \"flows.csv\" }\n";
    let map = "graph [ node [ id 0 label \"a\" ] node [ id 1 label \"b\" ] edge [ source 0 target 1 ] ]";
    let list = "start,src,dst,size\n0,h0,h1,10000\n";
    let (head, _) = ask(&json!({ "ask": "check", "text": text, "files": { "net.gml": map } }));
    let missing = head["errors"][0]["message"].as_str().expect("a message");
    assert!(missing.contains("flows.csv") && missing.contains("not among the files"), "{missing}");
    let given = json!({ "ask": "run", "text": text, "files": { "net.gml": map, "flows.csv": list } });
    let (head, body) = ask(&given);
    assert_eq!(head["errors"], Value::Null);
    let run: Value = serde_json::from_slice(cut(&body, &head["run"])).expect("JSON");
    assert_eq!(run["summary"]["completed"], 1);
}

#[test]
fn a_disk_is_not_read() {
    let here = std::env::current_dir().expect("a folder").join("Cargo.toml");
    for file in ["/etc/passwd".to_owned(), here.display().to_string()] {
        let text = format!("topology = {{ file = \"{file}\" }}");
        let (head, _) = ask(&json!({ "ask": "run", "text": text }));
        let message = head["errors"][0]["message"].as_str().expect("a message");
        assert!(message.contains("not among the files"), "{message}");
    }
}

#[test]
fn the_page_ends_a_run() {
    let endless = SCENARIO.replace("1 ms", "1000 s").replace("1 kB", "100 GB");
    let request = json!({ "ask": "run", "text": endless });
    let (head, _) = open(&answer(request.to_string().as_bytes(), &mut Page(false)));
    assert_eq!(head["stopped"]["stop_s"], json!(1000.0));
}

#[test]
fn schema_and_schemes_are_there() {
    assert!(ask(&json!({ "ask": "schema" })).0["schema"]["properties"].is_object());
    assert!(ask(&json!({ "ask": "schemes" })).0["schemes"].is_object());
}

const VARIED: &str = r#"
[variants.today]
[variants."a second"]
queue.limit = "9 kB"
"flow[0].size" = "2 kB"
[variants.wrong]
"flow[0].size" = "2 k"
[variants.seeded]
seed = 4
[variants.beyond]
"flow[1].size" = "2 kB"
"#;

#[test]
fn a_variant_is_the_scenario_with_its_changes() {
    let text = format!("{SCENARIO}{VARIED}");
    let (head, _) = ask(&json!({ "ask": "check", "text": text, "variant": "a second" }));
    assert_eq!(head["variants"], json!(["today", "a second", "wrong", "seeded", "beyond"]), "in the text's order");
    assert_eq!((&head["scenario"]["queue"]["limit"], &head["errors"]), (&json!("9 kB"), &Value::Null));
    let hops = |request: Value| {
        let (head, body) = ask(&request);
        let run: Value = serde_json::from_slice(cut(&body, &head["run"])).unwrap();
        run["packet_hops"].clone()
    };
    let changed = SCENARIO.replace("1 kB", "2 kB");
    let expected = hops(json!({ "ask": "run", "text": changed }));
    assert_eq!(hops(json!({ "ask": "run", "text": text, "variant": "a second" })), expected);
    assert_ne!(hops(json!({ "ask": "run", "text": text, "variant": "today" })), expected);
}

#[test]
fn an_error_of_a_variant_names_it() {
    let text = format!("{SCENARIO}{VARIED}");
    for request in ["run", "check"] {
        let of = |text: &str, variant: &str| {
            ask(&json!({ "ask": request, "text": text, "variant": variant })).0["errors"][0].clone()
        };
        let wrong = of(&text, "wrong");
        assert_eq!((&wrong["key"], &wrong["line"]), (&json!("flow[0].size"), &json!(10)));
        assert!(wrong["message"].as_str().unwrap().ends_with("(after setting flow[0].size for the variant 'wrong')"));
        assert_eq!(of(&text, "seeded")["message"], "cannot change here: all variants have the same seeds");
        assert_eq!(
            (&of(&text, "beyond")["message"], &of(&text, "beyond")["line"]),
            (&json!("there is no element 1"), &json!(14))
        );
        assert_eq!(of(&text, "none")["key"], "variants.none");
        // The scenario itself is wrong, at a line of its own.
        assert_eq!(of(&text.replace("1 ms", "1 m"), "today")["line"], 2);
        assert!(of("stop = ", "today")["message"].is_string());
    }
}
