//! Test programs whose tests are ignored, with the reason, where the machine lacks what they need.
//!
//! Rights, kernels and programs (root, eBPF, `curl`) are known when a test runs, not when it is compiled. The standard
//! harness could only report such a test as passed. A program here is declared in `Cargo.toml` with `harness = false`;
//! each of its modules lists its tests with [`tests!`], and its `main` is `midpath_testing::run(&[TESTS])`.

pub mod drivers;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

/// The payload that unwinds from a test which is ignored.
struct Ignored(String);

/// Ends the test on whose thread this is called: it is reported as ignored, with this reason.
pub fn ignore(reason: impl Into<String>) -> ! {
    // Without the panic hook: nothing is printed.
    resume_unwind(Box::new(Ignored(reason.into())))
}

/// A test: its path in the program, and its function.
pub type Test = (&'static str, fn());

/// Runs the tests of these modules as `cargo test` does, with its arguments.
pub fn run(modules: &[&[Test]]) -> ExitCode {
    run_with(Arguments::from_args(), modules)
}

/// The same where tests wait for other processes and for time to pass: eight at once, unless told otherwise.
pub fn run_waiting(modules: &[&[Test]]) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(8);
    run_with(arguments, modules)
}

fn run_with(arguments: Arguments, modules: &[&[Test]]) -> ExitCode {
    let trials = modules.iter().copied().flatten().map(|(path, test)| {
        // As the standard harness names tests: without the program.
        let name = path.split_once("::").map_or(*path, |(_, name)| name);
        let test = *test;
        Trial::ignorable_test(name, move || Ok(completion(test)))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Runs one test. A failed test goes on unwinding.
fn completion(test: fn()) -> Completion {
    match catch_unwind(AssertUnwindSafe(test)) {
        Ok(()) => Completion::Completed,
        Err(payload) => match payload.downcast::<Ignored>() {
            Ok(ignored) => Completion::ignored_with(ignored.0),
            Err(failure) => resume_unwind(failure),
        },
    }
}

/// Lists the tests of a module, as `TESTS`. The compiler reports a function that is not listed.
#[macro_export]
macro_rules! tests {
    ($($test:ident),+ $(,)?) => {
        /// The tests of this module.
        pub const TESTS: &[$crate::Test] = &[$((concat!(module_path!(), "::", stringify!($test)), $test)),+];
    };
}
