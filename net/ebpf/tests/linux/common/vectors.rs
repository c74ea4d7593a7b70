//! The vectors of tests/vectors/rpm.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use midpath_ebpf::{Aqm, Mode, Params, Registers, TICK_NS};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A file.
pub struct Vectors {
    pub name: String,
    pub params: Params,
    /// Flows by name, with the number of their register.
    pub flows: BTreeMap<String, u32>,
    pub events: Vec<Event>,
}

/// A packet and what must become of it.
#[derive(Debug, Deserialize)]
#[serde(tag = "dir", rename_all = "lowercase")]
pub enum Event {
    Out(Out),
    In(In),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Out {
    pub t: u64,
    pub flow: String,
    pub sojourn: u64,
    pub behind: u64,
    #[expect(dead_code, reason = "the simulator and the P4 program look at it")]
    pub bytes: usize,
    pub ecn: String,
    pub tcp: bool,
    pub flags: String,
    #[serde(default)]
    pub seq: u32,
    pub signal: bool,
    pub verdict: String,
    pub counted: Option<String>,
    pub register: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct In {
    pub t: u64,
    pub flow: String,
    pub flags: String,
    #[serde(default)]
    pub ack: u32,
    pub ece: bool,
    pub register: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: String,
    params: FileParams,
    usual: BTreeMap<String, Map<String, Value>>,
    flows: BTreeMap<String, Flow>,
    events: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Flow {
    place: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileParams {
    aqm: String,
    target_ns: u64,
    interval_ns: u64,
    mtu_bytes: u64,
    mode: String,
    registers: String,
    aggregate: bool,
    register_max: u16,
    #[serde(default)]
    window_mib: u32,
    age_ns: u64,
}

impl FileParams {
    fn params(&self) -> Params {
        let aqm = match self.aqm.as_str() {
            "step" => Aqm::Step,
            "codel" => Aqm::Codel,
            "codel-dataplane" => Aqm::CodelDataplane,
            other => panic!("aqm {other}"),
        };
        let mode = match self.mode.as_str() {
            "off" => Mode::Off,
            "fwd" => Mode::Fwd,
            "rpm" => Mode::Rpm,
            "both" => Mode::Both,
            other => panic!("mode {other}"),
        };
        let registers = match self.registers.as_str() {
            "guarded" => Registers::Guarded,
            "plain" => Registers::Plain,
            other => panic!("registers {other}"),
        };
        Params {
            aqm,
            target_ns: self.target_ns,
            interval_ns: self.interval_ns,
            mtu_bytes: self.mtu_bytes,
            mode,
            registers,
            aggregate: self.aggregate,
            age_ticks: u32::try_from(self.age_ns / TICK_NS).unwrap(),
            register_max: self.register_max,
            window_mib: self.window_mib,
        }
    }
}

/// All files, by name.
pub fn all() -> Vec<Vectors> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/rpm");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "json"));
    paths.sort();
    assert!(paths.len() > 20, "the vectors are missing: {paths:?}");
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Vectors {
    let file: File = serde_json::from_str(&std::fs::read_to_string(path).unwrap())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let whole = |event: Map<String, Value>| {
        let mut all = file.usual[event["dir"].as_str().unwrap()].clone();
        all.extend(event);
        serde_json::from_value(Value::Object(all)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    Vectors {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        params: file.params.params(),
        flows: file.flows.into_iter().map(|(name, flow)| (name, flow.place)).collect(),
        events: file.events.into_iter().map(whole).collect(),
    }
}

/// TCP's nine flags.
pub fn flag_bits(flags: &str) -> u16 {
    let bit = |name| match name {
        "FIN" => 0x001,
        "SYN" => 0x002,
        "RST" => 0x004,
        "ACK" => 0x010,
        "ECE" => 0x040,
        "CWR" => 0x080,
        "AE" => 0x100,
        other => panic!("flag {other}"),
    };
    flags.split_whitespace().map(bit).sum()
}

/// The ECN field.
pub fn ecn_bits(ecn: &str) -> u8 {
    ["not-ect", "ect1", "ect0", "ce"].iter().position(|name| *name == ecn).expect("an ECN field") as u8
}
