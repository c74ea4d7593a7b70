//! Text for Prometheus, and serving it.

use std::fmt::{Display, Write};
use std::io;

use tiny_http::{Header, Method, Response, Server};

use crate::error::{Error, Tried};

/// What Prometheus reads, being written.
pub struct Text {
    /// What all names begin with.
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

/// A name may hold anything.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Answers `GET /metrics` with what `render` says, until the process is ended.
pub fn serve(listen: &str, mut render: impl FnMut() -> Result<String, Error>) -> Result<(), Error> {
    let server = Server::http(listen)
        .map_err(|e| io::Error::other(e.to_string()))
        .tried(|| format!("--listen {listen}: cannot be opened"))?;
    eprintln!("midpathd: metrics at http://{}/metrics", server.server_addr());
    loop {
        let request = server.recv().tried(|| format!("{listen}: cannot be read"))?;
        let response = match (request.method(), request.url()) {
            (Method::Get, "/metrics") => match render() {
                Ok(text) => Response::from_string(text).with_header(plain_text()),
                Err(error) => Response::from_string(format!("{error}\n")).with_status_code(500),
            },
            (Method::Get, _) => Response::from_string("midpathd: see /metrics\n").with_status_code(404),
            _ => Response::from_string("only GET\n").with_status_code(405),
        };
        // A client that has gone away is not our concern.
        let _ = request.respond(response);
    }
}

fn plain_text() -> Header {
    Header::from_bytes("Content-Type", "text/plain; version=0.0.4; charset=utf-8").expect("ASCII")
}
