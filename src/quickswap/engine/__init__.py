"""The door to the core in Rust: settings of a run, custom policies, policies step by step."""
