//! Loads programs into the kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use aya::maps::{Array, MapData, MapType, PerCpuArray};
use aya::programs::{ProgramType, SchedClassifier, TestRunOptions};
use aya::sys::{BpfHelper, is_helper_supported, is_map_supported};
use aya::{Ebpf, EbpfLoader, TestRun};

use crate::layout::{Config, Entrance, Port, Register, Stats};
use crate::{Error, programs};

/// The four programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The device, on the way out.
    Divert,
    /// The internal pair, before the shaper.
    Enqueue,
    /// The internal pair, behind the shaper.
    Dequeue,
    /// The device, on the way in.
    Return,
}

impl Program {
    /// All of them.
    pub const ALL: [Program; 4] = [Program::Divert, Program::Enqueue, Program::Dequeue, Program::Return];

    /// The program's name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Program::Divert => "rpm_divert",
            Program::Enqueue => "rpm_enqueue",
            Program::Dequeue => "rpm_dequeue",
            Program::Return => "rpm_return",
        }
    }
}

/// Why this machine cannot run the programs, or `None` if it can: this process has no privilege,
/// the kernel has no eBPF, or it is too old. Loads none of our programs, so tests can tell a
/// machine without eBPF from a defect of ours.
pub fn unsupported() -> Option<String> {
    // The newest helper that the programs call; Linux 5.18 brought it.
    let newest = is_helper_supported(ProgramType::SchedClassifier, BpfHelper::BPF_FUNC_skb_set_tstamp);
    let helper = match newest {
        Ok(true) => None,
        Ok(false) => Some("the kernel has no bpf_skb_set_tstamp; Linux 5.18 or later is needed".to_owned()),
        Err(error) => Some(kernel("cannot load eBPF programs", &error).to_string()),
    };
    helper.or_else(|| match is_map_supported(MapType::PerCpuArray) {
        Ok(true) => None,
        Ok(false) => Some("the kernel has no per-CPU eBPF maps".to_owned()),
        Err(error) => Some(kernel("cannot create eBPF maps", &error).to_string()),
    })
}

/// Programs and maps that this process has put into the kernel. They stay there as long as this
/// value or a filter holds them.
#[derive(Debug)]
pub struct Loaded {
    ebpf: Ebpf,
}

impl Loaded {
    /// Loads the programs with `config` and `config.register_mask + 1` registers.
    ///
    /// # Errors
    ///
    /// If they were not compiled, or if the kernel refuses: no privilege, too old, no memory.
    pub fn new(config: &Config) -> Result<Loaded, Error> {
        let mut ebpf = EbpfLoader::new()
            .btf(None)
            .map_max_entries("rpm_registers", config.register_mask + 1)
            .load(programs::rpm()?)
            .map_err(|e| kernel("cannot create the maps", &e))?;
        for program in Program::ALL {
            let classifier = classifier(&mut ebpf, program)?;
            classifier.load().map_err(|e| kernel(&format!("the kernel refuses {}", program.name()), &e))?;
        }
        let mut loaded = Loaded { ebpf };
        loaded.set_config(config)?;
        Ok(loaded)
    }

    /// A program, for attaching it.
    ///
    /// # Errors
    ///
    /// Never, unless the programs were compiled without one of them.
    pub fn program(&mut self, program: Program) -> Result<BorrowedFd<'_>, Error> {
        classifier(&mut self.ebpf, program)?.fd().map(AsFd::as_fd).map_err(|e| kernel(program.name(), &e))
    }

    /// Changes what the programs are told.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn set_config(&mut self, config: &Config) -> Result<(), Error> {
        self.set("rpm_config", 0, *config)
    }

    /// A register.
    ///
    /// # Errors
    ///
    /// If there is none with this number.
    pub fn register(&self, place: u32) -> Result<Register, Error> {
        self.get("rpm_registers", place)
    }

    /// Changes a register.
    ///
    /// # Errors
    ///
    /// If there is none with this number.
    pub fn set_register(&mut self, place: u32, register: Register) -> Result<(), Error> {
        self.set("rpm_registers", place, register)
    }

    /// The port's state.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn port(&self) -> Result<Port, Error> {
        self.get("rpm_port", 0)
    }

    /// What the queue's entrance has counted.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn set_entrance(&mut self, entrance: Entrance) -> Result<(), Error> {
        self.set("rpm_entrance", 0, entrance)
    }

    /// The statistics of all CPUs together.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn stats(&self) -> Result<Stats, Error> {
        let map = self.ebpf.map("rpm_stats").ok_or_else(|| absent("rpm_stats"))?;
        let map = PerCpuArray::<_, Stats>::try_from(map).map_err(|e| kernel("rpm_stats", &e))?;
        sum_of_cpus(&map)
    }

    /// Bytes that a register, the port's state and the statistics of one CPU take in the kernel.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn value_bytes(&self) -> Result<Vec<(String, u32)>, Error> {
        let sizes = self.ebpf.maps().map(|(name, map)| {
            let data = match map {
                aya::maps::Map::Array(data) | aya::maps::Map::PerCpuArray(data) => data,
                _ => return Err(absent(name)),
            };
            let info = data.info().map_err(|e| kernel(name, &e))?;
            Ok((name.to_owned(), info.value_size()))
        });
        sizes.collect()
    }

    /// Runs a program on a made-up packet (BPF_PROG_TEST_RUN).
    ///
    /// # Errors
    ///
    /// If the kernel refuses the packet; it wants more than Ethernet's header.
    pub fn run(&mut self, program: Program, packet: &RunPacket<'_>) -> Result<RunResult, Error> {
        // Room for the link header that rpm_divert adds.
        let mut data = vec![0; packet.data.len() + 64];
        let context = packet.context();
        let options = TestRunOptions {
            data_in: Some(packet.data),
            data_out: Some(&mut data),
            ctx_in: Some(&context),
            repeat: packet.repeat.max(1),
            ..TestRunOptions::new()
        };
        let classifier = classifier(&mut self.ebpf, program)?;
        let done = classifier.test_run(options).map_err(|e| kernel("BPF_PROG_TEST_RUN", &e))?;
        data.truncate(done.data_size_out as usize);
        Ok(RunResult { verdict: done.return_value as i32, data, duration_ns: done.duration.as_nanos() as u64 })
    }

    fn get<T: aya::Pod>(&self, map: &str, at: u32) -> Result<T, Error> {
        let found = self.ebpf.map(map).ok_or_else(|| absent(map))?;
        let array = Array::<&MapData, T>::try_from(found).map_err(|e| kernel(map, &e))?;
        array.get(&at, 0).map_err(|e| kernel(map, &e))
    }

    fn set<T: aya::Pod>(&mut self, map: &str, at: u32, value: T) -> Result<(), Error> {
        let found = self.ebpf.map_mut(map).ok_or_else(|| absent(map))?;
        let mut array = Array::<&mut MapData, T>::try_from(found).map_err(|e| kernel(map, &e))?;
        array.set(at, value, 0).map_err(|e| kernel(map, &e))
    }
}

/// A packet for [`Loaded::run`].
#[derive(Debug, Clone, Copy, Default)]
pub struct RunPacket<'a> {
    /// The frame.
    pub data: &'a [u8],
    /// What `rpm_enqueue` stamped.
    pub stamp_ns: u64,
    /// What `rpm_divert` wrote on it.
    pub ticket: u32,
    /// How often to run; 0 is once.
    pub repeat: u32,
}

impl RunPacket<'_> {
    /// `struct __sk_buff`, as far as the kernel lets a test fill it.
    fn context(&self) -> [u8; 192] {
        const CB: usize = 48;
        const TSTAMP: usize = 152;
        let mut context = [0; 192];
        context[CB..CB + 4].copy_from_slice(&self.ticket.to_ne_bytes());
        context[TSTAMP..TSTAMP + 8].copy_from_slice(&self.stamp_ns.to_ne_bytes());
        context
    }
}

/// What became of the packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// What the program returned: TC_ACT_….
    pub verdict: i32,
    /// The frame afterwards.
    pub data: Vec<u8>,
    /// Mean time of a run.
    pub duration_ns: u64,
}

impl RunResult {
    /// Go on with the next filter.
    pub const UNSPEC: i32 = -1;
    /// Accepted.
    pub const OK: i32 = 0;
    /// Dropped.
    pub const SHOT: i32 = 2;
    /// Sent to another device.
    pub const REDIRECT: i32 = 7;
}

pub(crate) fn sum_of_cpus<T: std::borrow::Borrow<MapData>>(map: &PerCpuArray<T, Stats>) -> Result<Stats, Error> {
    let mut sum = Stats::default();
    for cpu in map.get(&0, 0).map_err(|e| kernel("rpm_stats", &e))?.iter() {
        sum.add(cpu);
    }
    Ok(sum)
}

fn classifier(ebpf: &mut Ebpf, program: Program) -> Result<&mut SchedClassifier, Error> {
    let found = ebpf.program_mut(program.name()).ok_or_else(|| absent(program.name()))?;
    found.try_into().map_err(|e| kernel(program.name(), &e))
}

fn absent(name: &str) -> Error {
    Error::Kernel { what: name.to_owned(), why: "is not in the compiled object".to_owned() }
}

/// The whole chain of causes, the verifier's log left out: it fills pages and is for developers.
pub(crate) fn kernel(what: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let mut why = first_line(&error.to_string());
    let mut denied = is_denied(error);
    let mut cause = error.source();
    while let Some(found) = cause {
        let line = first_line(&found.to_string());
        if !why.ends_with(&line) {
            why = format!("{why}: {line}");
        }
        denied |= is_denied(found);
        cause = found.source();
    }
    if denied {
        why += "; run it as root";
    }
    Error::Kernel { what: what.to_owned(), why }
}

fn is_denied(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
