//! TCPs whose congestion controller is a class in Python, by the contract that crates outside keep to.
//!
//! The simulator's thread calls the controller with Python's lock. The first exception ends the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use midpath_core::packet::{Ecn, FlowId};
use midpath_core::rng::{below, mix};
use midpath_core::roles::{FlowSpec, Parts};
use midpath_core::spec::SpecError;
use midpath_core::units::{Rate, Time};
use midpath_schemes::controller::{
    self, Codepoints, CongestionController, ControllerConfig, ControllerTraits, Echo, EcnMode, NetworkAssisted, Tcp,
    TcpParams, Window,
};
use midpath_schemes::describe::{Gauge, Unit};
use midpath_schemes::{Built, Catalogue, Description, params};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::{Map, Value};

use crate::controller::{Ack, Congestion, Control, Lost, Opening, Sample, number};
use crate::policy::Failure;

/// What `midpath.controller` says of a class.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Said {
    /// Makes one, from the parameters as JSON.
    make: Py<PyAny>,
    /// Which methods it has.
    hooks: BTreeSet<String>,
    /// Its own parameters with their defaults, as JSON.
    parameters: String,
    samples: bool,
    own_window: bool,
    paced: bool,
    ecn: String,
    echo: String,
    codepoints: (String, String),
    initial_window: Option<u32>,
    /// Names of attributes to record, their units and what they mean.
    gauges: Vec<(String, String, String)>,
    title: String,
    summary: String,
}

/// What a controller may be told.
#[derive(Clone, Copy)]
enum Hook {
    Open,
    Delivery,
    Ack,
    UnlimitedAck,
    Loss,
    Timeout,
    Ecn,
    Recovered,
    Sample,
    Lost,
    Restart,
}

impl Hook {
    const NAMES: [&str; 11] = [
        "on_open",
        "on_delivery",
        "on_ack",
        "on_unlimited_ack",
        "on_loss",
        "on_timeout",
        "on_ecn",
        "on_recovered",
        "on_sample",
        "on_lost",
        "on_restart",
    ];

    const fn name(self) -> &'static str {
        Hook::NAMES[self as usize]
    }
}

/// A class, ready to be a scheme.
struct Plugin {
    name: String,
    make: Py<PyAny>,
    /// The methods that it has, as Python wants names.
    hooks: [Option<Py<PyString>>; 11],
    parameters: Map<String, Value>,
    traits: ControllerTraits,
    samples: bool,
    own_window: bool,
    gauges: Vec<Gauge>,
    failure: Failure,
}

/// `catalogue` with the controllers.
pub(crate) fn catalogue(
    py: Python<'_>,
    mut catalogue: Catalogue,
    controllers: BTreeMap<String, Said>,
    failure: &Failure,
) -> PyResult<Catalogue> {
    for (name, said) in controllers {
        if catalogue.contains(&name) {
            return Err(PyValueError::new_err(format!("there is a scheme `{name}` already")));
        }
        let description = Description {
            title: kept(&said.title),
            summary: kept(&said.summary),
            hosts: kept(&format!("{name}, written in Python")),
            flows: gauges(&said.gauges),
            ..Description::default()
        };
        let plugin = Arc::new(Plugin::new(py, name.clone(), said, failure.clone())?);
        catalogue = catalogue.with(&name, move |table| build(&plugin, table)).described(&name, description);
    }
    Ok(catalogue)
}

impl Plugin {
    fn new(py: Python<'_>, name: String, said: Said, failure: Failure) -> PyResult<Plugin> {
        let wrong = |what: &str| PyValueError::new_err(format!("`{name}`: {what}"));
        let ecn = match said.ecn.as_str() {
            "off" => EcnMode::Off,
            "classic" => EcnMode::Classic,
            "accurate" => EcnMode::Accurate,
            _ => return Err(wrong("ecn is off, classic or accurate")),
        };
        let echo = match said.echo.as_str() {
            "until-cwr" => Echo::UntilCwr,
            "exact" => Echo::Exact,
            _ => return Err(wrong("echo is until-cwr or exact")),
        };
        let codepoint = |text: &str| match text {
            "not-ect" => Ok(Ecn::NotEct),
            "ect0" => Ok(Ecn::Ect0),
            "ect1" => Ok(Ecn::Ect1),
            _ => Err(wrong("codepoints are two of not-ect, ect0 and ect1")),
        };
        let codepoints = Codepoints { new: codepoint(&said.codepoints.0)?, again: codepoint(&said.codepoints.1)? };
        let traits = ControllerTraits { ecn, echo, codepoints, initial_window: said.initial_window, paced: said.paced };
        let parameters = serde_json::from_str(&said.parameters).map_err(|error| wrong(&error.to_string()))?;
        let hooks = Hook::NAMES.map(|hook| said.hooks.contains(hook).then(|| PyString::intern(py, hook).unbind()));
        let (make, samples, own_window) = (said.make, said.samples, said.own_window);
        let gauges = gauges(&said.gauges);
        Ok(Plugin { name, make, hooks, parameters, traits, samples, own_window, gauges, failure })
    }

    /// What of a scenario's table is TCP's, and all parameters of the class.
    fn split(&self, table: &Value) -> Result<(TcpParams, Map<String, Value>), SpecError> {
        let mut own = self.parameters.clone();
        let mut rest = Map::new();
        for (key, value) in table.as_object().into_iter().flatten() {
            match own.get_mut(key) {
                Some(place) => *place = fitting(key, place, value)?,
                None => _ = rest.insert(key.clone(), value.clone()),
            }
        }
        let tcp = serde_json::to_value(TcpParams::default()).unwrap_or_default();
        if let Some(key) = rest.keys().find(|key| tcp.get(key).is_none()) {
            let known = self.parameters.keys().chain(tcp.as_object().into_iter().flat_map(Map::keys));
            let known: Vec<&str> = known.map(String::as_str).collect();
            let message = format!("is not a parameter here; the parameters are {}", known.join(", "));
            return Err(SpecError::new(key, message));
        }
        Ok((params::read(&Value::Object(rest))?, own))
    }
}

/// A value for a parameter, if it is of the default's kind.
fn fitting(key: &str, default: &Value, value: &Value) -> Result<Value, SpecError> {
    let (fits, wanted) = match default {
        Value::Bool(_) => (value.is_boolean(), "true or false"),
        Value::String(_) => (value.is_string(), "a text"),
        Value::Number(number) if number.is_f64() => (value.is_number(), "a number"),
        _ => (value.is_i64() || value.is_u64(), "a whole number"),
    };
    if !fits {
        return Err(SpecError::new(key, format!("must be {wanted}, as its default {default}")));
    }
    let float = default.as_f64().filter(|_| default.is_f64()).and(value.as_f64());
    Ok(float.map_or_else(|| value.clone(), Value::from))
}

fn build(plugin: &Arc<Plugin>, table: &Value) -> Built {
    let (tcp, parameters) = plugin.split(table)?;
    let parameters = Value::Object(parameters).to_string();
    match (plugin.samples, plugin.own_window) {
        (false, false) => scheme(tcp, Config::<false, false> { plugin: plugin.clone(), parameters }),
        (false, true) => scheme(tcp, Config::<false, true> { plugin: plugin.clone(), parameters }),
        (true, false) => scheme(tcp, Config::<true, false> { plugin: plugin.clone(), parameters }),
        (true, true) => scheme(tcp, Config::<true, true> { plugin: plugin.clone(), parameters }),
    }
}

fn scheme<const SAMPLES: bool, const OWN_WINDOW: bool>(tcp: TcpParams, config: Config<SAMPLES, OWN_WINDOW>) -> Built {
    let name = config.plugin.name.clone();
    let transport = Tcp::new(&name, tcp, config)?;
    Ok(Arc::new(Parts { name, transport: Some(Arc::new(transport)), network: None }))
}

/// Builds controllers of a class, with parameters of the scenario's.
struct Config<const SAMPLES: bool, const OWN_WINDOW: bool> {
    plugin: Arc<Plugin>,
    parameters: String,
}

impl<const SAMPLES: bool, const OWN_WINDOW: bool> ControllerConfig for Config<SAMPLES, OWN_WINDOW> {
    type Controller = InPython<SAMPLES, OWN_WINDOW>;

    fn build(&self, _tcp: &TcpParams, _mss: u32, flow: &FlowSpec) -> Self::Controller {
        let mut made =
            InPython { plugin: self.plugin.clone(), flow: flow.id, control: None, rate: None, quantum: 0, last: None };
        if !self.plugin.failure.is_set() {
            let parameters = &self.parameters;
            Python::attach(|py| match made.make(py, parameters) {
                Ok(control) => made.control = Some(control),
                Err(error) => made.fail(py, "__init__", Time::ZERO, error),
            });
        }
        made
    }

    fn traits(&self) -> ControllerTraits {
        self.plugin.traits
    }
}

/// One flow's controller.
struct InPython<const SAMPLES: bool, const OWN_WINDOW: bool> {
    plugin: Arc<Plugin>,
    flow: FlowId,
    /// None if it could not be made.
    control: Option<Py<Control>>,
    /// Its rate and quantum after the last call.
    rate: Option<Rate>,
    quantum: u64,
    /// When it was last called; none before its connection is open.
    last: Option<Time>,
}

impl<const SAMPLES: bool, const OWN_WINDOW: bool> InPython<SAMPLES, OWN_WINDOW> {
    fn make(&self, py: Python<'_>, parameters: &str) -> PyResult<Py<Control>> {
        let made = self.plugin.make.bind(py).call1((parameters,))?;
        Ok(made.cast_into::<Control>().map_err(PyErr::from)?.unbind())
    }

    /// Ends the run with an error that says where and when.
    fn fail(&self, py: Python<'_>, method: &str, now: Time, error: PyErr) {
        let raised =
            py.import("midpath.errors").and_then(|module| module.getattr("ControllerError")).and_then(|class| {
                let cause = error.value(py);
                cause.setattr("__traceback__", error.traceback(py))?;
                // Ctrl-C, and what ends a run from within, are no errors of the class.
                if !cause.is_instance_of::<pyo3::exceptions::PyException>() {
                    return Err(error.clone_ref(py));
                }
                let raised = class.call1((&self.plugin.name, method, self.flow.0, now.as_secs_f64(), cause))?;
                raised.setattr("__cause__", cause)?;
                Ok(raised)
            });
        self.plugin.failure.set(raised.map_or_else(|error| error, PyErr::from_value));
    }

    /// Calls a method, if the class has it, with the sender's window in `self`; returns what `read` makes
    /// of its answer and of the window that it leaves.
    fn call<A, T>(
        &mut self,
        hook: Hook,
        now: Time,
        window: &Window,
        arguments: impl FnOnce() -> A,
        read: impl FnOnce(&Bound<'_, PyAny>, &Window) -> PyResult<T>,
    ) -> Option<T>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let (Some(control), Some(method)) = (&self.control, &self.plugin.hooks[hook as usize]) else { return None };
        if self.plugin.failure.is_set() {
            return None;
        }
        self.last = Some(now);
        let done = Python::attach(|py| {
            let control = control.bind(py);
            let called = || {
                control.borrow_mut().take(window);
                let answer = control.call_method1(method, arguments())?;
                let left = control.borrow();
                Ok((read(&answer, left.left())?, left.pace()))
            };
            called().map_err(|error| self.fail(py, hook.name(), now, error))
        });
        let (answer, pace) = done.ok()?;
        (self.rate, self.quantum) = pace;
        Some(answer)
    }

    /// Tells of something that lets the window be moved.
    fn tell<A>(&mut self, hook: Hook, now: Time, window: &mut Window, arguments: impl FnOnce() -> A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let left = self.call(hook, now, window, arguments, |answer, left| {
            if answer.is_none() {
                return Ok(*left);
            }
            let (hook, answer) = (hook.name(), answer.repr()?);
            Err(PyTypeError::new_err(format!("{hook} sets self.window and returns nothing, not {answer}")))
        });
        if let Some(left) = left {
            *window = left;
        }
    }

    /// Asks for a threshold, or with a window of its own for the window. By default `otherwise`.
    fn ask(&mut self, hook: Hook, window: &Window, congestion: &controller::Congestion, otherwise: u64) -> u64 {
        let arguments = || (Congestion::from(congestion),);
        let asked = self.call(hook, congestion.now, window, arguments, |answer, left| {
            let what = if OWN_WINDOW { "window" } else { "threshold" };
            if answer.is_none() || left != window {
                let hook = hook.name();
                return Err(PyTypeError::new_err(format!("{hook} returns the new {what} in bytes, and sets none")));
            }
            number(&format!("the {what} that {} returns", hook.name()), "bytes", answer, (1_u64 << 40) as f64)
        });
        asked.map_or(otherwise, |bytes| bytes as u64)
    }
}

impl<const SAMPLES: bool, const OWN_WINDOW: bool> NetworkAssisted for InPython<SAMPLES, OWN_WINDOW> {}

impl<const SAMPLES: bool, const OWN_WINDOW: bool> CongestionController for InPython<SAMPLES, OWN_WINDOW> {
    const SAMPLES: bool = SAMPLES;
    const OWN_WINDOW: bool = OWN_WINDOW;

    fn on_open(&mut self, window: &mut Window, opening: &mut controller::Opening<'_>) {
        // A copy is asked: flows of one host share a stream, and others are to draw as they would.
        self.last = Some(opening.now);
        let seed = mix(below(&mut opening.rng.clone(), u64::MAX) ^ mix(self.flow.0.into()));
        let (now, srtt_s) = (opening.now, opening.srtt.as_secs_f64());
        let (overhead, sack) = (opening.overhead, opening.sack);
        self.tell(Hook::Open, now, window, || (Opening { now_s: now.as_secs_f64(), srtt_s, overhead, sack, seed },));
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &controller::Ack) {
        self.tell(Hook::Delivery, ack.now, window, || (Ack::from(ack),));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &controller::Ack) {
        self.tell(Hook::Ack, ack.now, window, || (Ack::from(ack),));
    }

    fn on_unlimited_ack(&mut self, ack: &controller::Ack) {
        let Some(window) = self.control.as_ref().map(|c| Python::attach(|py| *c.borrow(py).left())) else { return };
        self.call(
            Hook::UnlimitedAck,
            ack.now,
            &window,
            || (Ack::from(ack),),
            |_, left| {
                let same = *left == window;
                same.then_some(()).ok_or_else(|| PyTypeError::new_err("on_unlimited_ack sets no window"))
            },
        );
    }

    fn on_loss(&mut self, window: &Window, congestion: &controller::Congestion) -> u64 {
        // RFC 5681, equation 4; RFC 3168, §6.1.2: no second reduction for one window of data.
        let otherwise = if congestion.ecn_reduced { window.ssthresh } else { congestion.flight / 2 };
        self.ask(Hook::Loss, window, congestion, otherwise)
    }

    fn on_rto(&mut self, window: &Window, congestion: &controller::Congestion) -> u64 {
        self.ask(Hook::Timeout, window, congestion, congestion.flight / 2)
    }

    fn on_ecn(&mut self, window: &Window, congestion: &controller::Congestion) -> u64 {
        self.ask(Hook::Ecn, window, congestion, window.cwnd / 2)
    }

    fn on_recovered(&mut self, window: &mut Window, now: Time) {
        self.tell(Hook::Recovered, now, window, || (now.as_secs_f64(),));
    }

    fn on_sample(&mut self, window: &mut Window, ack: &controller::Ack, sample: &controller::Sample) {
        self.tell(Hook::Sample, ack.now, window, || (Ack::from(ack), Sample::from(sample)));
    }

    fn on_lost(&mut self, window: &mut Window, lost: &controller::Lost) {
        self.tell(Hook::Lost, lost.now, window, || (Lost::from(lost),));
    }

    /// What the class does not say is TCP's: RFC 5681, §4.1.
    fn on_restart(&mut self, window: &mut Window, pause: &controller::Pause) {
        if !OWN_WINDOW && pause.idle > pause.rto {
            window.restart(pause.initial);
        }
        self.tell(Hook::Restart, pause.now, window, || (pause.now.as_secs_f64(),));
    }

    fn pacing_rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        self.rate
    }

    fn send_quantum(&self) -> u64 {
        self.quantum
    }

    fn gauges(&self, out: &mut Vec<(&'static str, f64)>) {
        let (Some(control), Some(last)) = (&self.control, self.last) else { return };
        if self.plugin.gauges.is_empty() {
            return;
        }
        Python::attach(|py| {
            for gauge in &self.plugin.gauges {
                match control.bind(py).getattr(gauge.name).and_then(|value| value.extract()) {
                    Ok(value) => out.push((gauge.name, value)),
                    Err(error) if self.plugin.failure.is_set() => drop(error),
                    Err(error) => self.fail(py, gauge.name, last, error),
                }
            }
        });
    }
}

fn gauges(said: &[(String, String, String)]) -> Vec<Gauge> {
    let unit = |text: &str| match text {
        "s" => Unit::Seconds,
        "bps" => Unit::Bps,
        "bytes" => Unit::Bytes,
        "ratio" => Unit::Ratio,
        _ => Unit::Count,
    };
    said.iter().map(|(name, of, meaning)| Gauge::new(kept(name), unit(of), kept(meaning))).collect()
}

/// The same text for as long as the process lives, once: descriptions are constants in Rust.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = all.get(text) {
        return found;
    }
    let text = Box::leak(text.to_owned().into_boxed_str());
    all.insert(text);
    text
}
