//! Text for Prometheus, and serving it.

pub mod request;
mod server;

use std::fmt::{Display, Write};
use std::net::TcpListener;

use crate::error::{Error, Tried};

/// Prometheus text format, being written.
pub(crate) struct Text {
    /// Prefix of all names.
    prefix: &'static str,
    text: String,
}

impl Text {
    /// Nothing yet.
    pub fn new(prefix: &'static str) -> Text {
        Text { prefix, text: String::new() }
    }

    /// A metric begins: `kind` is `counter`, `gauge` or `histogram`.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        let name = format!("{}_{name}", self.prefix);
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One value.
    pub fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(key, of)| format!("{key}=\"{}\"", escaped(of))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{}_{name}{labels} {value}", self.prefix);
    }

    /// A histogram's values: how many are in each bucket, and its upper bound. What is above the last
    /// bound comes with none.
    pub fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        buckets: impl Iterator<Item = (Option<f64>, u64)>,
        sum: Option<f64>,
    ) {
        let mut all = 0;
        for (bound, count) in buckets {
            all += count;
            if let Some(bound) = bound {
                let bound = bound.to_string();
                let labels = [labels, &[("le", bound.as_str())]].concat();
                self.line(&format!("{name}_bucket"), &labels, all);
            }
        }
        self.line(&format!("{name}_bucket"), &[labels, &[("le", "+Inf")]].concat(), all);
        if let Some(sum) = sum {
            self.line(&format!("{name}_sum"), labels, sum);
        }
        self.line(&format!("{name}_count"), labels, all);
    }

    /// All of it.
    pub fn done(self) -> String {
        self.text
    }
}

/// A label's value may contain any character.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The listening socket.
pub(crate) fn listen(at: &str) -> Result<TcpListener, Error> {
    let failed = || format!("--listen {at}: cannot listen");
    let listener = TcpListener::bind(at).tried(failed)?;
    tracing::info!("metrics at http://{}/metrics", listener.local_addr().tried(failed)?);
    Ok(listener)
}

pub(crate) use server::run as serve;
