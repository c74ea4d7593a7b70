//! CoDel's control law in P4 against floating point.

use midpath_p4::{Arrival, EVENTS, Machine};

/// A packet that is no IP leaves at `now` after a second in the queue of CoDel-FWD.
fn leaves(machine: &mut Machine, now: u128, interval: u64) {
    let mut bytes = vec![0];
    bytes.extend(&(now as u64).to_be_bytes()[2..]);
    bytes.extend(&1_000_000_000_u64.to_be_bytes()[2..]);
    bytes.extend(100_000_u32.to_be_bytes());
    bytes.extend([0; 6]);
    bytes.extend(&interval.to_be_bytes()[2..]);
    // MTU, age, the registers' largest count; CoDel on a switch, forward; plain, per flow; answers, type.
    bytes.extend([0; 12]);
    bytes.extend([2, 1, 0, 0, 0, 0, 0, 0, 0]);
    machine.run(&Arrival { bytes: &bytes, ..Arrival::default() }).expect("it runs");
}

#[test]
fn the_control_law_is_exact_to_nine_digits() {
    let mut machine = Machine::new(EVENTS).expect("the program");
    let powers = (11..32).flat_map(|k| [(1_u32 << k) - 1, 1 << k, (1 << k) + 1]);
    let counts: Vec<u32> = (2..2000).chain(powers).chain([u32::MAX]).collect();
    for interval in [1_000_000, 20_000_000, 100_000_000, 2_147_483_647] {
        for count in &counts {
            machine.write_register("dataplane_above", 0, 1).expect("a register");
            machine.write_register("dataplane_count", 0, u128::from(count - 1)).expect("a register");
            machine.write_register("dataplane_next", 0, 77).expect("a register");
            leaves(&mut machine, 77, interval);
            assert_eq!(machine.register("dataplane_count", 0).expect("a register"), u128::from(*count));
            let got = (machine.register("dataplane_next", 0).expect("a register") - 77) as f64;
            let exact = interval as f64 / f64::from(*count).sqrt();
            // The bound that the control states, and a nanosecond for rounding down.
            let error = (got - exact).abs();
            assert!(error <= exact / f64::from(1 << 28) + 1.0, "{interval}/sqrt({count}): {got}, not {exact}");
        }
    }
}
