/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same as unwind_calls.c for Rust: closures, trait objects, and vectors that are sorted. */
use std::collections::BTreeMap;

#[repr(C)]
struct Times(i64, i64, i64, i64);

extern "C" {
    fn setitimer(which: i32, new: *const Times, old: *mut Times) -> i32;
}

trait Work {
    fn run(&self, x: u64, depth: u32) -> u64;
}

struct Mix;
struct Tree(Box<dyn Work>);

impl Work for Mix {
    #[inline(never)]
    fn run(&self, x: u64, depth: u32) -> u64 {
        let y = (0..40).fold(x, |a, i| a.rotate_left(7).wrapping_mul(0x9e3779b97f4a7c15) ^ i);
        if depth == 0 { y } else { self.run(y, depth - 1).wrapping_add(y) }
    }
}

impl Work for Tree {
    #[inline(never)]
    fn run(&self, x: u64, depth: u32) -> u64 {
        let mut names = BTreeMap::new();
        for i in 0..8 {
            names.insert(format!("{}", x.wrapping_add(i)), self.0.run(x, depth));
        }
        names.values().fold(0, |a, b| a ^ b)
    }
}

fn main() {
    let often = Times(0, 1013, 0, 1013);
    let tree = Tree(Box::new(Mix));
    let mut sum = 0u64;

    unsafe { setitimer(2, &often, std::ptr::null_mut()) };
    for i in 0..u64::MAX {
        let mut numbers: Vec<u64> = (0..24).map(|k| (i + k) * 7919 % 101).collect();
        numbers.sort_by_key(|x| tree.0.run(*x, 1));
        sum = sum.wrapping_add(numbers[3]).wrapping_add(tree.run(i, 3));
        if sum == 1 {
            println!("{}", sum);
        }
    }
}
