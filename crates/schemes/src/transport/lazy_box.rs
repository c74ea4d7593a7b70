//! A box that the first write makes: for state that few connections ever have, out of the way of what each packet
//! touches.

use std::ops::{Deref, DerefMut};

/// What a value is before anybody has changed it.
pub(crate) trait Initial: Clone + 'static {
    /// It, for all connections.
    const INITIAL: &'static Self;
}

/// A value that takes eight bytes until it is first written to: then it moves into a box. Reading costs a branch.
#[derive(Debug, Clone)]
pub(crate) struct LazyBox<T>(Option<Box<T>>);

impl<T> Default for LazyBox<T> {
    fn default() -> LazyBox<T> {
        LazyBox::NONE
    }
}

impl<T> LazyBox<T> {
    /// Not written to.
    pub const NONE: LazyBox<T> = LazyBox(None);

    /// It, if it has been written to: what each packet asks is asked of that, in one branch.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The same for a change that leaves an initial value as it is.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Initial> Deref for LazyBox<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::INITIAL)
    }
}

impl<T: Initial> DerefMut for LazyBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        if self.0.is_none() {
            self.0 = Some(initial());
        }
        self.0.as_deref_mut().unwrap_or_else(|| unreachable!("just made"))
    }
}

#[cold]
#[inline(never)]
fn initial<T: Initial>() -> Box<T> {
    Box::new(T::INITIAL.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Initial for u64 {
        const INITIAL: &'static u64 = &7;
    }

    #[test]
    fn only_writing_makes_the_box() {
        let mut lazy: LazyBox<u64> = LazyBox::default();
        assert_eq!((*lazy, lazy.get_mut().is_none()), (7, true));
        *lazy += 1;
        assert_eq!((*lazy, lazy.get_mut().copied()), (8, Some(8)));
        assert_eq!(size_of::<LazyBox<[u64; 9]>>(), 8);
    }
}
