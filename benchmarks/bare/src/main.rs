//! `quickswap-bare SYSTEM POLICY EVENTS SEED`: the yardstick that the loops of quickswap are measured against.
//!
//! SYSTEM is a file of numbers: the servers, then need, arrival rate and mean size of each class (Poisson arrivals,
//! exponential sizes). POLICY is `msf`, `msfq:L` (lights admitted on demand, threshold L) or `adaptive`. An event is an
//! arrival or a completion. Prints one line of JSON.

mod chain;
mod system;

use std::process::ExitCode;
use std::time::Instant;

use chain::{ADAPTIVE, Chain, MSF, MSFQ};
use system::System;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("quickswap-bare: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [path, policy, events, seed] = arguments else {
        return Err("usage: quickswap-bare SYSTEM POLICY EVENTS SEED".into());
    };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let system = System::parse(&text)?;
    let events: u64 = events.parse().map_err(|_| format!("the number of events {events:?} is not a whole number"))?;
    let seed: u64 = seed.parse().map_err(|_| format!("the seed {seed:?} is not a whole number"))?;
    let (name, threshold) = policy.split_once(':').unwrap_or((policy, "0"));
    let threshold: u64 = threshold.parse().map_err(|_| format!("the threshold {threshold:?} is not a whole number"))?;

    let mut chain = Chain::new(&system, threshold, seed);
    let begin = Instant::now();
    match name {
        "msf" => chain.run::<MSF>(events),
        "adaptive" => chain.run::<ADAPTIVE>(events),
        "msfq" if system.is_one_or_all() => chain.run::<MSFQ>(events),
        "msfq" => return Err("msfq takes two classes, of need 1 and of all servers".into()),
        _ => return Err(format!("the policy {name:?} is none of msf, msfq:L, adaptive")),
    }
    let seconds = begin.elapsed().as_secs_f64();
    Ok(format!(
        "{{\"events\": {events}, \"seconds\": {seconds}, \"ns_per_event\": {}, \"mean_in_system\": {}, \"completed\": {:?}}}",
        seconds * 1e9 / events as f64,
        chain.mean_in_system(),
        chain.completed_in_order_given(&system),
    ))
}
