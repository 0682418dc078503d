//! The errors of the core. `bindings` turns them into exceptions of Python.

use std::borrow::Cow;
use std::fmt::{self, Debug, Display, Formatter};

use crate::policy::Choice;

/// Why the core rejects its input, or cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The JSON of a specification cannot be parsed.
    Specification(String),
    /// The value of an argument, of a field of the system, or of a parameter of the policy is not allowed.
    Argument {
        /// Its name.
        name: Cow<'static, str>,
        /// Its value.
        given: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The policy does not support the request; the text states the reason.
    Unsupported(&'static str),
    /// The policy's answer is not a waiting job that fits.
    Answer(Choice),
    /// A custom policy raised an exception; the text names both.
    Policy(String),
    /// A check of the debug mode failed: a fault of the core.
    Invariant(String),
    /// A thread panicked: a fault of the core.
    Panic,
}

impl Error {
    /// The value of an argument is not allowed.
    pub fn argument(name: impl Into<Cow<'static, str>>, given: impl Debug, allowed: impl Into<String>) -> Self {
        Self::Argument { name: name.into(), given: format!("{given:?}"), allowed: allowed.into() }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Specification(reason) => write!(f, "the specification cannot be parsed: {reason}"),
            Self::Argument { name, given, allowed } => write!(f, "{name} is {given}; it must be {allowed}"),
            Self::Unsupported(reason) => f.write_str(reason),
            Self::Answer(choice) => write!(f, "policy answer is {choice:?}; it must be a waiting job that fits"),
            Self::Policy(report) => f.write_str(report),
            Self::Invariant(violation) => write!(f, "invariant violated: {violation}"),
            Self::Panic => f.write_str("a thread of the core panicked"),
        }
    }
}

impl std::error::Error for Error {}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Specification(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_contains_what_was_given_and_what_is_allowed() {
        let message = Error::argument("threshold", 9, "from 0 to 7").to_string();
        for part in ["threshold", "9", "from 0 to 7"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
