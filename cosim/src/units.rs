//! Quantities as the sources print them: `"31.52Gbps"`, `"256KB"`, `"100ns"`, exact to the digit.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// Bits a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

/// Bytes. KB = 1,000, KiB = 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// Picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub u64);

/// An exact decimal fraction: `digits ÷ 10^places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The digits, the point left out.
    pub digits: u64,
    /// Digits after the point.
    pub places: u32,
}

impl Decimal {
    /// Reads digits with at most one point.
    ///
    /// # Errors
    /// When `text` is anything else, or too long.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{part}");
        if whole.is_empty() || digits.len() > 18 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!("`{text}` is not a decimal number of at most 18 digits"));
        }
        let digits = digits.parse().map_err(|e| format!("`{text}`: {e}"))?;
        Ok(Self { digits, places: part.len() as u32 })
    }

    /// This times `scale`, when that is whole.
    pub fn times(self, scale: u64) -> Option<u64> {
        let product = u128::from(self.digits) * u128::from(scale);
        let ten = 10_u128.pow(self.places);
        (product % ten == 0).then(|| u64::try_from(product / ten).ok())?
    }
}

/// Reads `text` as a number with one of the units, `(name, scale)`.
fn parse(text: &str, what: &str, units: &[(&str, u64)]) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let Some((_, scale)) = units.iter().find(|u| u.0 == unit.trim()) else {
        let names = names(units);
        return Err(format!("`{text}` is not a {what}: give a number and one of {names}"));
    };
    let number = Decimal::parse(number)?;
    number.times(*scale).ok_or_else(|| {
        format!("`{text}` is finer than this project's unit, or too large, for a {what}")
    })
}

fn names(units: &[(&str, u64)]) -> String {
    units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ")
}

/// Takes a text, and says what was wanted when something else stands there.
struct Text<'a> {
    what: &'a str,
    units: &'a [(&'a str, u64)],
}

impl Visitor<'_> for Text<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} in quotes: a number and one of {}", self.what, names(self.units))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        parse(text, self.what, self.units).map_err(E::custom)
    }
}

macro_rules! quantity {
    ($name:ident, $what:literal, $units:expr) => {
        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                parse(text, $what, &$units).map(Self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_str(Text { what: $what, units: &$units }).map(Self)
            }
        }
    };
}

quantity!(
    Rate,
    "rate",
    [("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000)]
);
quantity!(
    Size,
    "size",
    [
        ("B", 1),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30)
    ]
);
quantity!(
    Time,
    "time",
    [("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)]
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        assert_eq!("31.52Gbps".parse(), Ok(Rate(31_520_000_000)));
        assert_eq!("256KB".parse(), Ok(Size(256_000)));
        assert_eq!("1MiB".parse(), Ok(Size(1_048_576)));
        assert_eq!("0.1us".parse(), Ok(Time(100_000)));
    }

    #[test]
    fn wrong_units_are_named() {
        let error = "256KB".parse::<Time>().unwrap_err();
        assert!(error.contains("not a time") && error.contains("ns"), "{error}");
        assert!("1.5B".parse::<Size>().is_err());
        assert!(".5KB".parse::<Size>().is_err());
    }
}
