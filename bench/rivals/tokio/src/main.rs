// SPDX-License-Identifier: BSD-2-Clause
// Tokio on one thread: a million tasks blocked on a Notify, then finished; spawn-and-join of an empty task; servers.
mod servers;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::task::yield_now;

// Resident memory at its peak, with the page tables of now, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| -> u64 {
        status
            .lines()
            .find(|l| l.starts_with(name))
            .and_then(|l| l.split_whitespace().nth(1))
            .and_then(|v| v.parse().ok())
            .unwrap_or(0)
    };
    field("VmHWM:") + field("VmPTE:")
}

async fn million(n: usize) {
    let gate = Arc::new(Notify::new());
    let blocked = Arc::new(AtomicUsize::new(0));
    let before = peak_kib();
    let start = Instant::now();
    let mut tasks = Vec::with_capacity(n);
    for _ in 0..n {
        let (gate, blocked) = (gate.clone(), blocked.clone());
        tasks.push(tokio::spawn(async move {
            blocked.fetch_add(1, Ordering::Relaxed);
            gate.notified().await;
        }));
    }
    while blocked.load(Ordering::Relaxed) < n {
        yield_now().await;
    }
    let created = start.elapsed().as_nanos();
    let peak = peak_kib();
    let start = Instant::now();
    gate.notify_waiters();
    for t in tasks {
        t.await.unwrap();
    }
    println!("{} {} {}", created, start.elapsed().as_nanos(), peak - before);
}

async fn spawn(n: usize) {
    let start = Instant::now();
    for _ in 0..n {
        tokio::spawn(async {}).await.unwrap();
    }
    println!("{}", start.elapsed().as_nanos() as f64 / n as f64);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(1000);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let port = n as u16;
    match args.get(1).map(String::as_str) {
        Some("million") => runtime.block_on(million(n)),
        Some("spawn") => runtime.block_on(spawn(n)),
        Some("quotes") => runtime.block_on(servers::serve(port, servers::quotes)),
        Some("http") => runtime.block_on(servers::serve(port, servers::hello)),
        Some("echo") => runtime.block_on(servers::serve(port, servers::echo)),
        _ => println!("tokio 1.38"),
    }
}
