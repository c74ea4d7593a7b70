use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use midpath_core::files::Files;
use midpath_schemes::Catalogue;
use midpath_sim::{RunOptions, RunOutput, ScenarioError, run_with};

use crate::guard::{Failure, message};

/// Why a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(ScenarioError),
    /// A stack misbehaved: the line that names it.
    Stack(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Scenario(error) => error.fmt(f),
            RunError::Stack(line) => line.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

/// [`run`] with our schemes and these, for tests: what is wrong is a panic.
pub fn must_run(stacks: Catalogue, text: &str, options: &RunOptions) -> RunOutput {
    let catalogue = Catalogue::standard().joined(stacks).expect("names that nobody has");
    run(text, Path::new("."), options, &catalogue).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario with the schemes of `catalogue`, which may be stacks: [`run_with`], where a stack that panics, loops
/// or sends what no link takes is an error.
pub fn run<'a>(
    text: &str,
    files: impl Into<Files<'a>>,
    options: &RunOptions,
    catalogue: &Catalogue,
) -> Result<RunOutput, RunError> {
    let run = || run_with(text, files, options, catalogue, &mut |_| true);
    // Nothing of the run is used after a panic.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(output)) => Ok(output.expect("nobody cancels it")),
        Ok(Err(error)) => Err(RunError::Scenario(error)),
        Err(panic) if panic.is::<Failure>() => Err(RunError::Stack(message(panic.as_ref()))),
        Err(panic) => resume_unwind(panic),
    }
}
