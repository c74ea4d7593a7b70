//! Which mutant is on: `MIDPATH_MUTANT` says its number. `MIDPATH_REACHED` names a file that gets the number of each
//! mutant whose code the process reaches, once.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

struct Switch {
    on: u32,
    reached: Option<Reached>,
}

struct Reached {
    seen: Vec<AtomicBool>,
    file: Mutex<File>,
}

static SWITCH: LazyLock<Switch> = LazyLock::new(|| Switch {
    on: std::env::var("MIDPATH_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0),
    reached: std::env::var("MIDPATH_REACHED").ok().map(|path| Reached {
        seen: (0..1 << 17).map(|_| AtomicBool::new(false)).collect(),
        file: Mutex::new(OpenOptions::new().append(true).create(true).open(path).expect("a file to write to")),
    }),
});

/// Whether a mutant is on.
#[inline]
pub fn on(number: u32) -> bool {
    let switch = &*SWITCH;
    if let Some(reached) = &switch.reached {
        reached.note(number);
    }
    switch.on == number
}

impl Reached {
    #[inline]
    fn note(&self, number: u32) {
        let seen = &self.seen[number as usize];
        if !seen.load(Ordering::Relaxed) && !seen.swap(true, Ordering::Relaxed) {
            let mut file = self.file.lock().expect("nobody panics while writing");
            writeln!(file, "{number}").expect("the file takes a line");
        }
    }
}
