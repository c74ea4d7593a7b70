//! Which path each packet takes: all in turn, in another order each time (csg-htsim 841d9e7, `permute_paths`, `choose_route`).

/// A permutation of paths.
#[derive(Debug, Clone)]
pub struct Paths {
    ids: Box<[u16]>,
    at: usize,
}

impl Paths {
    /// Of so many. `draw` is asked for a number below another one.
    pub fn new(paths: u16, draw: &mut dyn FnMut(u32) -> u32) -> Paths {
        let mut own = Paths { ids: (0..paths).collect(), at: 0 };
        own.permute(draw);
        own
    }

    fn permute(&mut self, draw: &mut dyn FnMut(u32) -> u32) {
        for left in (1..=self.ids.len()).rev() {
            self.ids.swap(draw(left as u32) as usize, left - 1);
        }
    }

    /// That of the next packet.
    pub fn next(&mut self, draw: &mut dyn FnMut(u32) -> u32) -> u16 {
        self.at += 1;
        if self.at == self.ids.len() {
            self.permute(draw);
            self.at = 0;
        }
        self.ids[self.at]
    }
}
