//! Congestion controllers written in Python: the shared state, and the arguments of callbacks.
//!
//! [`crate::plugin`] runs them as TCPs. Each class has the fields of the Rust type that it stands for,
//! times in seconds.

use midpath_core::units::{Rate, Time};
use midpath_schemes::controller::{self, Window};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The largest window: [`Window`]'s.
const LARGEST: f64 = (1_u64 << 40) as f64;
/// The fastest rate, bit/s. Ours: far above any link, far below overflow.
const FASTEST: f64 = 1e15;

/// The window and the rate of a sender, as its controller sees and sets them.
#[pyclass(module = "midpath._midpath", subclass)]
pub(crate) struct Control {
    window: Window,
    /// Of the window, what makes no whole byte.
    fraction: f64,
    rate: Option<Rate>,
    quantum: u64,
}

#[pymethods]
impl Control {
    /// A subclass may take what it likes.
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyAny>, _kwargs: Option<&Bound<'_, PyAny>>) -> Control {
        Control { window: Window::new(1, 1), fraction: 0.0, rate: None, quantum: 0 }
    }

    #[getter]
    fn window(&self) -> f64 {
        self.window.cwnd as f64 + self.fraction
    }

    #[setter]
    fn set_window(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = number("window", "bytes", bytes, LARGEST)?;
        self.window.set(bytes as u64);
        self.fraction = bytes.fract();
        Ok(())
    }

    #[getter]
    fn threshold(&self) -> f64 {
        self.window.ssthresh as f64
    }

    #[setter]
    fn set_threshold(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window.ssthresh = number("threshold", "bytes", bytes, LARGEST)? as u64;
        Ok(())
    }

    #[getter]
    fn mss(&self) -> u64 {
        self.window.mss
    }

    #[getter]
    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }

    #[getter]
    fn rate(&self) -> Option<f64> {
        self.rate.map(Rate::as_f64)
    }

    #[setter]
    fn set_rate(&mut self, rate: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.rate =
            rate.map(|rate| number("rate", "bits per second", rate, FASTEST)).transpose()?.map(|r| Rate(r as u64));
        Ok(())
    }

    #[getter]
    fn quantum(&self) -> u64 {
        self.quantum
    }

    #[setter]
    fn set_quantum(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.quantum = number("quantum", "bytes", bytes, LARGEST)? as u64;
        Ok(())
    }
}

impl Control {
    /// What the sender has made of the window.
    pub(crate) fn take(&mut self, window: &Window) {
        if window.cwnd != self.window.cwnd {
            self.fraction = 0.0;
        }
        self.window = *window;
    }

    /// The window as the controller has left it.
    pub(crate) const fn left(&self) -> &Window {
        &self.window
    }

    /// Its rate, and what may leave together.
    pub(crate) const fn pace(&self) -> (Option<Rate>, u64) {
        (self.rate, self.quantum)
    }
}

/// A number from 0 to `most`, whose errors say what it is.
pub(crate) fn number(what: &str, unit: &str, value: &Bound<'_, PyAny>, most: f64) -> PyResult<f64> {
    let Ok(found) = value.extract::<f64>() else {
        return Err(PyTypeError::new_err(format!("{what} must be a number of {unit}, not {}", value.repr()?)));
    };
    if (0.0..=most).contains(&found) {
        return Ok(found);
    }
    Err(PyValueError::new_err(format!("{what} must be a number of {unit} from 0 to {most:e}, not {found}")))
}

/// When a connection has opened.
#[pyclass(module = "midpath._midpath", frozen, get_all)]
pub(crate) struct Opening {
    pub(crate) now_s: f64,
    pub(crate) srtt_s: f64,
    pub(crate) overhead: u64,
    pub(crate) sack: bool,
    pub(crate) seed: u64,
}

/// An acknowledgement.
#[pyclass(module = "midpath._midpath", frozen, get_all)]
pub(crate) struct Ack {
    now_s: f64,
    acked: u64,
    delivered: u64,
    una: u64,
    nxt: u64,
    rtt_s: Option<f64>,
    srtt_s: f64,
    ece: bool,
    marks: u64,
    marked: u64,
    after_rto: bool,
}

impl From<&controller::Ack> for Ack {
    fn from(ack: &controller::Ack) -> Ack {
        Ack {
            now_s: ack.now.as_secs_f64(),
            acked: ack.acked,
            delivered: ack.delivered,
            una: ack.una,
            nxt: ack.nxt,
            rtt_s: ack.rtt.map(Time::as_secs_f64),
            srtt_s: ack.srtt.as_secs_f64(),
            ece: ack.ece,
            marks: ack.marks,
            marked: ack.marked,
            after_rto: ack.after_rto,
        }
    }
}

/// A loss, a timeout, or marks.
#[pyclass(module = "midpath._midpath", frozen, get_all)]
pub(crate) struct Congestion {
    now_s: f64,
    flight: u64,
    ecn_reduced: bool,
}

impl From<&controller::Congestion> for Congestion {
    fn from(congestion: &controller::Congestion) -> Congestion {
        let controller::Congestion { now, flight, ecn_reduced } = *congestion;
        Congestion { now_s: now.as_secs_f64(), flight, ecn_reduced }
    }
}

/// What the newest packet that an ACK reports tells of the path.
#[pyclass(module = "midpath._midpath", frozen, get_all)]
pub(crate) struct Sample {
    total: u64,
    prior: u64,
    delivered: u64,
    interval_s: f64,
    rtt_s: Option<f64>,
    app_limited: bool,
    in_flight: u64,
    pipe: u64,
    lost: u64,
    newly_lost: u64,
    window_limited: bool,
}

impl From<&controller::Sample> for Sample {
    fn from(sample: &controller::Sample) -> Sample {
        Sample {
            total: sample.total,
            prior: sample.prior,
            delivered: sample.delivered(),
            interval_s: sample.interval.as_secs_f64(),
            rtt_s: sample.rtt.map(Time::as_secs_f64),
            app_limited: sample.app_limited,
            in_flight: sample.in_flight,
            pipe: sample.pipe,
            lost: sample.lost,
            newly_lost: sample.newly_lost,
            window_limited: sample.window_limited,
        }
    }
}

/// A packet that is taken for lost.
#[pyclass(module = "midpath._midpath", frozen, get_all)]
pub(crate) struct Lost {
    now_s: f64,
    size: u64,
    in_flight: u64,
    lost: u64,
    total: u64,
    app_limited: bool,
    follows: bool,
}

impl From<&controller::Lost> for Lost {
    fn from(lost: &controller::Lost) -> Lost {
        Lost {
            now_s: lost.now.as_secs_f64(),
            size: lost.bytes,
            in_flight: lost.in_flight,
            lost: lost.lost,
            total: lost.total,
            app_limited: lost.app_limited,
            follows: lost.follows,
        }
    }
}
