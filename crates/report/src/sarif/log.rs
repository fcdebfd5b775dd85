//! The part of SARIF that is written, named as there. What is optional and absent is left out.

use std::fmt;

use serde::Serialize;

use super::{Dictionary, message};

/// A SARIF log with one run.
#[derive(Clone, Debug, Serialize)]
pub struct Log {
    pub(super) version: &'static str,
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) runs: [Run; 1],
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write =
            if f.alternate() { serde_json::to_string_pretty } else { serde_json::to_string };
        f.write_str(&write(self).map_err(|_| fmt::Error)?)
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub tool: Tool,
    pub automation_details: AutomationDetails,
    pub invocations: [Invocation; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    pub column_kind: &'static str,
    pub results: Vec<Finding>,
    pub properties: RunProperties,
}

#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    pub driver: Driver,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    pub name: &'static str,
    pub semantic_version: &'static str,
    pub rules: Vec<Rule>,
}

/// A `reportingDescriptor`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub id: &'static str,
    pub name: String,
    pub short_description: Message,
    pub full_description: Message,
    pub help: Message,
    pub default_configuration: Configuration,
    pub properties: RuleProperties,
}

#[derive(Clone, Debug, Serialize)]
pub struct Configuration {
    pub level: &'static str,
}

/// What GitHub sorts rules by.
#[derive(Clone, Debug, Serialize)]
pub struct RuleProperties {
    pub tags: [&'static str; 2],
    pub precision: &'static str,
    #[serde(rename = "problem.severity")]
    pub severity: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct AutomationDetails {
    pub id: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    pub command_line: String,
    pub execution_successful: bool,
    pub tool_execution_notifications: Vec<Notification>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Notification {
    pub level: &'static str,
    pub message: Message,
}

impl Notification {
    pub fn new(level: &'static str, text: &str) -> Notification {
        Notification { level, message: message(text) }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Artifact {
    pub location: ArtifactLocation,
}

impl Artifact {
    pub fn new(uri: &str) -> Artifact {
        Artifact { location: ArtifactLocation { uri: uri.to_owned(), index: None } }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunProperties {
    pub program: String,
    pub memory_model: &'static str,
    pub strategy: String,
    pub seed: u64,
    pub schedules: u64,
    pub inconclusive: u64,
    pub stopped: &'static str,
}

/// A `result`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub rule_id: &'static str,
    pub rule_index: usize,
    pub kind: &'static str,
    pub level: &'static str,
    pub message: Message,
    pub locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Stack>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_flows: Vec<CodeFlow>,
    #[serde(skip_serializing_if = "Dictionary::is_empty")]
    pub partial_fingerprints: Dictionary<String>,
    /// At least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence_count: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suppressions: Vec<Suppression>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    pub properties: FindingProperties,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    pub description: Message,
    /// At least one.
    pub artifact_changes: Vec<ArtifactChange>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactChange {
    pub artifact_location: ArtifactLocation,
    /// At least one.
    pub replacements: Vec<Replacement>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    pub deleted_region: DeletedRegion,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inserted_content: Option<Content>,
}

/// A `region` with its end; the last column is the first that stays.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedRegion {
    pub start_line: u32,
    pub start_column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingProperties {
    pub bug: String,
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proved_on_path: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternate_proved_nearest: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_schedule: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// Index of another result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_cause_as: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Suppression {
    pub kind: &'static str,
    pub status: &'static str,
    pub justification: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub description: Message,
    pub artifact_location: ArtifactLocation,
}

#[derive(Clone, Debug, Serialize)]
pub struct Stack {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    pub frames: Vec<Frame>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Frame {
    pub location: Location,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeFlow {
    pub message: Message,
    /// At least one.
    pub thread_flows: Vec<ThreadFlow>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ThreadFlow {
    pub id: String,
    /// At least one.
    pub locations: Vec<ThreadFlowLocation>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadFlowLocation {
    pub location: Location,
    /// Values of variables at this step, by name.
    #[serde(skip_serializing_if = "Dictionary::is_empty")]
    pub state: Dictionary<Message>,
    pub execution_order: u64,
    pub importance: &'static str,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhysicalLocation {
    pub artifact_location: ArtifactLocation,
    pub region: Region,
    /// The whole line, where the region is a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_region: Option<Region>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ArtifactLocation {
    pub uri: String,
    /// In the run's artifacts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// From a column to the end of its line.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    pub start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Content>,
}

/// An `artifactContent`: text as it is in a file.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Content {
    pub text: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogicalLocation {
    pub fully_qualified_name: String,
    pub kind: &'static str,
}

/// A `message` or a `multiformatMessageString`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Message {
    pub text: String,
}
