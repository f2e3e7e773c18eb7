// SPDX-License-Identifier: GPL-2.0-or-later
// Generics, closures, trait objects and the library, for so many rounds.
use std::collections::HashMap;

trait Shape {
    fn area(&self, r: f64) -> f64;
}
struct Square;
struct Circle;
impl Shape for Square {
    #[inline(never)]
    fn area(&self, r: f64) -> f64 {
        (1..100).map(|i| r * r / i as f64).sum()
    }
}
impl Shape for Circle {
    #[inline(never)]
    fn area(&self, r: f64) -> f64 {
        (1..100).map(|i| r * 3.14 / (i * i) as f64).sum()
    }
}

#[inline(never)]
fn count_words(words: &[String]) -> usize {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for word in words {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts.len()
}

#[inline(never)]
fn largest<T: Ord + Clone>(list: &[T]) -> T {
    let mut copy = list.to_vec();
    copy.sort_by(|a, b| b.cmp(a));
    copy[0].clone()
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let words: Vec<String> = (0..20000).map(|i| (i * 7919 % 5003).to_string()).collect();
    let list: Vec<u64> = (0..20000).map(|i| i * 7919 % 10007).collect();
    let shapes: [Box<dyn Shape>; 2] = [Box::new(Square), Box::new(Circle)];
    let mut sum = 0.0;
    for _ in 0..rounds {
        sum += count_words(&words) as f64 + largest(&list) as f64 + largest(&words).len() as f64;
        for i in 0..20000 {
            sum += shapes[i & 1].area(i as f64);
        }
    }
    println!("{}", sum);
}
