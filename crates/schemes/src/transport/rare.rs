//! State that few connections ever need, out of the way of what each packet touches.

use std::ops::{Deref, DerefMut};

/// What a value is before anybody has changed it.
pub(crate) trait Untouched: Clone + 'static {
    /// It, for all connections.
    const UNTOUCHED: &'static Self;
}

/// A value that takes eight bytes until it is first written to: then it moves into a box. Reading costs a branch.
#[derive(Debug, Clone)]
pub(crate) struct Rare<T>(Option<Box<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Rare<T> {
        Rare(None)
    }
}

impl<T> Rare<T> {
    /// It, if it has been touched: what each packet asks is asked of that, in one branch.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The same for a change that leaves an untouched value as it is.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Untouched> Deref for Rare<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::UNTOUCHED)
    }
}

impl<T: Untouched> DerefMut for Rare<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        if self.0.is_none() {
            self.0 = Some(touched());
        }
        self.0.as_deref_mut().unwrap_or_else(|| unreachable!("just made"))
    }
}

#[cold]
#[inline(never)]
fn touched<T: Untouched>() -> Box<T> {
    Box::new(T::UNTOUCHED.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Untouched for u64 {
        const UNTOUCHED: &'static u64 = &7;
    }

    #[test]
    fn only_writing_makes_the_box() {
        let mut rare: Rare<u64> = Rare::default();
        assert_eq!((*rare, rare.get_mut().is_none()), (7, true));
        *rare += 1;
        assert_eq!((*rare, rare.get_mut().copied()), (8, Some(8)));
        assert_eq!(size_of::<Rare<[u64; 9]>>(), 8);
    }
}
