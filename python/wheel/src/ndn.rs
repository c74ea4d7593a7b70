//! A consumer of NDN with MIRCC, without I/O: Python owns the connection and the clock.

use midpath_core::units::Time;
use midpath_ndn::link::Frames;
use midpath_ndn_forwarder::consumer::{Consumer, State};
use midpath_ndn_forwarder::name;
use midpath_ndn_forwarder::trust::{Certificate, Trust};
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Fetches one object. Times are seconds since it was made.
#[pyclass(name = "NdnConsumer", module = "midpath._midpath")]
pub struct NdnConsumer {
    consumer: Consumer,
    /// The beginning of a frame.
    input: Vec<u8>,
}

fn time(seconds: f64) -> Time {
    Time::from_secs_f64(seconds.max(0.0))
}

#[pymethods]
impl NdnConsumer {
    /// `seed` is for nonces, which nobody else should guess; with a key or a certificate, Data alone that it has
    /// signed count.
    #[new]
    #[pyo3(signature = (object, window, seed, key=None, certificate=None))]
    fn new(
        object: &str,
        window: u64,
        seed: u64,
        key: Option<Vec<u8>>,
        certificate: Option<Vec<u8>>,
    ) -> PyResult<NdnConsumer> {
        let name = name::parse(object).map_err(|why| PyValueError::new_err(format!("{object}: {why}")))?;
        if name.is_empty() || window == 0 {
            let what = if window == 0 { "window: must be at least 1" } else { "give the name of an object to fetch" };
            return Err(PyValueError::new_err(format!("{object}: {what}")));
        }
        let trust = match (key, certificate) {
            (Some(_), Some(_)) => return Err(PyValueError::new_err("pass a key or a certificate, not both")),
            (Some(key), None) => Trust::Shared(key),
            (None, Some(file)) => Certificate::read(&file)
                .map(Trust::Certificate)
                .map_err(|why| PyValueError::new_err(format!("certificate: {why}")))?,
            (None, None) => Trust::Anybody,
        };
        let consumer = Consumer::new(&name, window, seed, Time::ZERO).trusting(trust);
        Ok(NdnConsumer { consumer, input: Vec::new() })
    }

    /// What has come from the forwarder.
    fn receive(&mut self, seconds: f64, data: &[u8]) -> PyResult<()> {
        self.input.extend_from_slice(data);
        let mut frames = Frames::of(&self.input);
        for frame in frames.by_ref() {
            let wrong = |why| PyConnectionError::new_err(format!("the forwarder sent invalid NDN data: {why}"));
            // What is no packet is nobody's answer.
            let _ = self.consumer.receive(time(seconds), frame.map_err(wrong)?);
        }
        let taken = frames.taken();
        self.input.drain(..taken);
        Ok(())
    }

    /// To be called at `next`, or at any time.
    fn on_time(&mut self, seconds: f64) {
        self.consumer.on_time(time(seconds));
    }

    /// When something is due.
    fn next(&self) -> f64 {
        self.consumer.next_wake().as_secs_f64()
    }

    /// What is to be sent to the forwarder.
    fn sends<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.consumer.sends().concat())
    }

    /// What has come of the object since this was asked last, in order.
    fn take<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.consumer.take())
    }

    /// Whether all of it has come; raises `ConnectionError` if it never will.
    fn is_done(&self) -> PyResult<bool> {
        match self.consumer.state() {
            State::Fetching => Ok(false),
            State::Done => Ok(true),
            State::Failed(why) => Err(PyConnectionError::new_err(why.clone())),
        }
    }

    /// Interests sent again.
    #[getter]
    fn again(&self) -> u64 {
        self.consumer.again
    }

    /// Segments that a key has signed which nobody has verified.
    #[getter]
    fn unverified(&self) -> u64 {
        self.consumer.unverified
    }
}
