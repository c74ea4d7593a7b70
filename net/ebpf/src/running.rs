//! Loaded programs, found by a program's id, so nothing needs to be pinned or stored.

use aya::maps::{Array, Map, MapData, MapInfo, PerCpuArray};
use aya::programs::{ProgramInfo, loaded_programs};

use crate::layout::{Config, Port, Register, Stats};
use crate::load::{kernel, sum_of_cpus};
use crate::{Error, batch};

/// The maps of programs that run.
#[derive(Debug)]
pub struct Running {
    config: MapData,
    port: MapData,
    stats: MapData,
    registers: MapData,
}

/// Bytes of kernel memory, by map, as far as they depend on the number of flows and CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapSizes {
    /// All registers.
    pub registers: u64,
    /// One of them.
    pub register: u64,
}

impl Running {
    /// The maps of the program with this number, which must be `rpm_dequeue`: it uses all of them.
    ///
    /// # Errors
    ///
    /// If there is no such program, or it is another version's.
    pub fn of_program(id: u32) -> Result<Running, Error> {
        let program = program(id)?;
        let ids = program.map_ids().map_err(|e| kernel("the program's maps", &e))?.unwrap_or_default();
        let (mut config, mut port, mut stats, mut registers) = (None, None, None, None);
        for id in ids {
            let info = MapInfo::from_id(id).map_err(|e| kernel("a map of the program", &e))?;
            let slot = match info.name_as_str() {
                Some("rpm_config") if info.value_size() as usize == size_of::<Config>() => &mut config,
                Some("rpm_port") if info.value_size() as usize == size_of::<Port>() => &mut port,
                Some("rpm_stats") if info.value_size() as usize == size_of::<Stats>() => &mut stats,
                Some("rpm_registers") if info.value_size() as usize == size_of::<Register>() => &mut registers,
                _ => continue,
            };
            *slot = Some(MapData::from_id(id).map_err(|e| kernel("a map of the program", &e))?);
        }
        let other = || Error::OtherVersion;
        let found = Running {
            config: config.ok_or_else(other)?,
            port: port.ok_or_else(other)?,
            stats: stats.ok_or_else(other)?,
            registers: registers.ok_or_else(other)?,
        };
        if found.config()?.version == Config::VERSION { Ok(found) } else { Err(other()) }
    }

    /// What the programs were told.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn config(&self) -> Result<Config, Error> {
        array::<Config>(&self.config)?.get(&0, 0).map_err(|e| kernel("rpm_config", &e))
    }

    /// Changes what the programs are told.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn set_config(&self, config: &Config) -> Result<(), Error> {
        array::<Config>(&self.config)?.set(0, *config, 0).map_err(|e| kernel("rpm_config", &e))
    }

    /// The port's state.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn port(&self) -> Result<Port, Error> {
        array::<Port>(&self.port)?.get(&0, 0).map_err(|e| kernel("rpm_port", &e))
    }

    /// The statistics of all CPUs together.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn stats(&self) -> Result<Stats, Error> {
        let data = again(&self.stats)?;
        let map = PerCpuArray::<_, Stats>::try_from(Map::PerCpuArray(data)).map_err(|e| kernel("rpm_stats", &e))?;
        sum_of_cpus(&map)
    }

    /// The registers that somebody has.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn registers(&self) -> Result<Vec<Register>, Error> {
        let mut found: Vec<Register> = batch::values(&self.registers)?;
        found.retain(|register| register.tag != 0);
        Ok(found)
    }

    /// What the registers take.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn sizes(&self) -> Result<MapSizes, Error> {
        let info = self.registers.info().map_err(|e| kernel("rpm_registers", &e))?;
        let register = u64::from(info.value_size());
        Ok(MapSizes { registers: register * u64::from(info.max_entries()), register })
    }
}

/// A map type of aya's owns its descriptor, so each look opens one more.
fn again(data: &MapData) -> Result<MapData, Error> {
    let info = data.info().map_err(|e| kernel("a map", &e))?;
    MapData::from_id(info.id()).map_err(|e| kernel("a map", &e))
}

fn array<T: aya::Pod>(data: &MapData) -> Result<Array<MapData, T>, Error> {
    Array::try_from(Map::Array(again(data)?)).map_err(|e| kernel("a map", &e))
}

fn program(id: u32) -> Result<ProgramInfo, Error> {
    let what = format!("program {id}");
    let mut refused = None;
    for program in loaded_programs() {
        match program {
            Ok(program) if program.id() == id => return Ok(program),
            Ok(_) => {}
            // One that has gone meanwhile, or all of them: who may load programs may not always
            // look at them.
            Err(error) => refused = Some(kernel(&what, &error)),
        }
    }
    Err(refused.unwrap_or(Error::Kernel { what, why: "does not exist".to_owned() }))
}
