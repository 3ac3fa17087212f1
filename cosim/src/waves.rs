//! Waves of a window around a failure: both twins in one FST file, equal scopes side by side.

use std::path::Path;

use fst_writer::{
    FstBodyWriter, FstFileType, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection,
    FstVarType, FstWriteError, open_fst,
};
use verilated::Layout;

type Body = FstBodyWriter<std::io::BufWriter<std::fs::File>>;

/// A file under way.
pub struct Waves {
    body: Body,
    /// For each element of each compared field: first word, words, width, the two signals.
    signals: Vec<(usize, usize, u32, [FstSignalId; 2])>,
    last: [Vec<u32>; 2],
}

impl Waves {
    /// A file for the images of `layout`; `nic` names the scope over both twins.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn new(path: &Path, nic: &str, layout: &Layout) -> Result<Self, FstWriteError> {
        let info = FstInfo {
            start_time: 0,
            timescale_exponent: -9,
            version: "nicstep".into(),
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let mut header = open_fst(path, &info)?;
        let mut ids: [Vec<FstSignalId>; 2] = [Vec::new(), Vec::new()];
        let mut places = Vec::new();
        for (twin, ids) in ["model", "rtl"].iter().zip(&mut ids) {
            header.scope(twin, "", FstScopeType::Module)?;
            header.scope(nic, "", FstScopeType::Module)?;
            for (n, instance) in layout.instances.iter().enumerate() {
                let name = instance.path.rsplit('.').next().unwrap_or("top");
                header.scope(name, &instance.module, FstScopeType::Module)?;
                for place in layout.places.iter().filter(|p| p.instance == n) {
                    let field = layout.field(place);
                    for element in 0..field.elements.unwrap_or(1) {
                        let name = match field.elements {
                            Some(_) => format!("{}[{element}]", field.name),
                            None => field.name.clone(),
                        };
                        let kind = FstSignalType::bit_vec(field.width);
                        let (var, way) = (FstVarType::Logic, FstVarDirection::Implicit);
                        ids.push(header.var(name, kind, var, way, None)?);
                        let words = field.element_words();
                        places.push((place.offset + element as usize * words, words, field.width));
                    }
                }
                header.up_scope()?;
            }
            header.up_scope()?;
            header.up_scope()?;
        }
        let [model, rtl] = ids;
        let signals = places.into_iter().zip(model.into_iter().zip(rtl));
        Ok(Self {
            body: header.finish()?,
            signals: signals.map(|((at, n, width), (m, r))| (at, n, width, [m, r])).collect(),
            last: [Vec::new(), Vec::new()],
        })
    }

    /// Both images as they are before the edge of `clock`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn clock(&mut self, clock: u64, model: &[u32], rtl: &[u32]) -> Result<(), FstWriteError> {
        self.body.time_change(clock)?;
        for (twin, image) in [model, rtl].into_iter().enumerate() {
            let last = &mut self.last[twin];
            for (at, words, width, ids) in &self.signals {
                let now = &image[*at..at + words];
                if last.is_empty() || last[*at..at + words] != *now {
                    self.body.signal_change(ids[twin], &digits(now, *width))?;
                }
            }
            image.clone_into(last);
        }
        Ok(())
    }

    /// Closes the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(), FstWriteError> {
        self.body.finish()
    }
}

/// Binary digits, the most significant first.
fn digits(words: &[u32], width: u32) -> Vec<u8> {
    (0..width).rev().map(|n| b'0' + (words[(n / 32) as usize] >> (n % 32) & 1) as u8).collect()
}
