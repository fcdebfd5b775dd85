//! What stands behind each "proved" of a diagnosis.

use unravel_results::{Certification, Certified, Diagnosis, Minimality};

use crate::Ledger;

impl Ledger {
    /// What came of the proofs that a diagnosis rests on.
    pub fn of(&self, diagnosis: &Diagnosis) -> Certified {
        let by_proof = || match self.trusted.is_empty() {
            true => Certification::Certified,
            false => Certification::AcceptedBut(
                self.trusted.iter().map(|(rule, n)| (rule.words().to_owned(), *n)).collect(),
            ),
        };
        let proved = diagnosis.root_cause.as_ref().is_some_and(|cause| cause.proved_on_path);
        // Had its proof been refused, it would not be said to be proved.
        let root_cause = proved.then(|| match self.none {
            0 => Certification::NotCertifiable("the solver leaves no proof".to_owned()),
            _ => by_proof(),
        });
        let alternates = diagnosis.alternates.iter().map(|alternate| {
            let flows = u64::from(alternate.distance.data_flow);
            let how = match (alternate.minimality, alternate.same_path, flows) {
                (Minimality::BestFound { .. }, ..) => return None,
                (_, _, 0) => "nothing is fewer than none",
                (_, true, flows) if flows <= self.flows => return Some(by_proof()),
                // Equal data flow gives an equal outcome: that needs no search.
                (_, _, 1) => "by argument: with the same data flow it would fail, too",
                _ => "by exhaustive search",
            };
            Some(Certification::NotCertifiable(how.to_owned()))
        });
        Certified {
            claims: self.accepted(),
            lines: self.lines,
            root_cause,
            alternates: alternates.collect(),
            refused: self.refused.clone(),
        }
    }
}
