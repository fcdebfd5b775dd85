//! Locks taken in another order, as text.

use super::{Draft, DraftError, wish};
use crate::lock_order::{Acquisition, CallFor, LockOrder, Taken};
use crate::source::Language;

impl Draft<'_> {
    pub(super) fn lock_order(&mut self, order: &LockOrder) -> Result<(), DraftError> {
        match order {
            LockOrder::SecondFirst { first, second } => {
                self.second_earlier(first, second)?;
                let patch = self.patch(&first.stretch.file)?;
                patch.move_before(second.stretch.region.bytes.clone(), &first.stretch.region)?;
            }
            LockOrder::ByAddress { first, second } => {
                let (one, other) = (self.statement(first)?, self.statement(second)?);
                let (a, b) = (address(first), address(second));
                let indent = self.source(&first.stretch.file)?.indentation();
                let text = format!(
                    "if ({a} < {b}) {{\n{indent}{one}\n{indent}{other}\n}} else {{\n{indent}{other}\n{indent}{one}\n}}"
                );
                self.instead_of_both(first, second, &text)?;
            }
            LockOrder::Together { first, second } => {
                let text = match &first.taken {
                    Taken::Scoped { name, .. } => {
                        format!("std::scoped_lock {name}({}, {});", first.lock, second.lock)
                    }
                    _ => format!("std::lock({}, {});", first.lock, second.lock),
                };
                self.instead_of_both(first, second, &text)?;
            }
            LockOrder::Released { release, second, .. } => {
                let patch = self.patch(&release.file)?;
                patch.move_before(release.region.bytes.clone(), &second.stretch.region)?;
            }
            LockOrder::CalledBefore { first, statement } => {
                let patch = self.patch(&statement.file)?;
                patch.move_before(statement.region.bytes.clone(), &first.stretch.region)?;
            }
            LockOrder::ValueBefore { first, call } => self.value_before(first, call)?,
        }
        Ok(())
    }

    /// Takes the place of both acquisitions, where the first is.
    fn instead_of_both(
        &mut self,
        first: &Acquisition,
        second: &Acquisition,
        text: &str,
    ) -> Result<(), DraftError> {
        self.second_earlier(first, second)?;
        let patch = self.patch(&first.stretch.file)?;
        patch.before(&first.stretch.region, text)?;
        patch.remove_statement(first.stretch.region.bytes.clone());
        patch.remove_statement(second.stretch.region.bytes.clone());
        Ok(())
    }

    /// Ways out between the two acquisitions now have to give the second back as well.
    fn second_earlier(
        &mut self,
        first: &Acquisition,
        second: &Acquisition,
    ) -> Result<(), DraftError> {
        let source = self.source(&first.stretch.file)?;
        let Some(between) = source.between(&first.stretch.region, &second.stretch.region) else {
            return Ok(());
        };
        let Some(release) = second.release() else { return Ok(()) };
        for exit in source.exits(&between) {
            if let Some(region) = source.region(&[source.position_of(exit.bytes.start)]) {
                self.patch(&first.stretch.file)?.before(&region, &release)?;
            }
        }
        Ok(())
    }

    fn value_before(&mut self, first: &Acquisition, call: &CallFor) -> Result<(), DraftError> {
        let file = &first.stretch.file;
        let source = self.source(file)?;
        let text = source.text()[call.bytes.clone()].to_owned();
        let name = self.name(&wish(&call.function, "value"), &[file])?;
        let returned = source.function_named(&call.function).map(|f| f.return_type.clone());
        let of_type = match (source.language(), returned.filter(|text| !text.is_empty())) {
            (Language::Cpp, _) => "auto ".to_owned(),
            (Language::C, Some(text)) if text.ends_with('*') => text,
            (Language::C, Some(text)) => format!("{text} "),
            (Language::C, None) => format!("__typeof__({text}) "),
        };
        let patch = self.patch(file)?;
        patch.before(&first.stretch.region, &format!("{of_type}{name} = {text};"))?;
        patch.replace(call.bytes.clone(), &name);
        Ok(())
    }

    fn statement(&self, of: &Acquisition) -> Result<String, DraftError> {
        let source = self.source(&of.stretch.file)?;
        Ok(source.text()[of.stretch.region.bytes.clone()].to_owned())
    }
}

/// What is compared.
fn address(of: &Acquisition) -> String {
    match of.taken {
        Taken::Function { .. } => of.lock.clone(),
        Taken::Method { .. } | Taken::Scoped { .. } => format!("&{}", of.lock),
    }
}
