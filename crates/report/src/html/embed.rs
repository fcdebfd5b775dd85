//! What the page is made of besides its text: style, scripts, data, and the policy that lets nothing else run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub const STYLE: &str = concat!(
    include_str!("page/base.css"),
    include_str!("page/text.css"),
    include_str!("page/timeline.css"),
    include_str!("page/inspector.css"),
    include_str!("page/causes.css"),
    include_str!("page/hunt.css"),
    include_str!("page/print.css"),
);

/// The script of an explanation. One module: the files share its scope, `start.js` runs last.
const EXPLANATION: &[&str] = &[
    include_str!("page/theme.js"),
    include_str!("page/copy.js"),
    include_str!("page/schedule.js"),
    include_str!("page/lanes.js"),
    include_str!("page/flows.js"),
    include_str!("page/panel.js"),
    include_str!("page/strip.js"),
    include_str!("page/links.js"),
    include_str!("page/values.js"),
    include_str!("page/panes.js"),
    include_str!("page/explorer.js"),
    include_str!("page/keys.js"),
    include_str!("page/start.js"),
];

/// The script of a page that is read from top to bottom: all that is in it, it has without scripts.
const READING: &[&str] = &[
    include_str!("page/theme.js"),
    include_str!("page/copy.js"),
    include_str!("page/start_reading.js"),
];

/// The script of an explanation, whose schedules one can step through.
pub fn explanation_script() -> String {
    EXPLANATION.join("\n")
}

/// The script of a page that is only read: theme, and commands to copy.
pub fn reading_script() -> String {
    READING.join("\n")
}

/// The content security policy: our style and this script, by their hashes, and nothing else.
pub fn policy(script: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(STYLE),
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Data for scripts. The block ends at the first `</script`, so there is no `<` in it.
pub fn data(class: &str, data: &impl Serialize) -> Markup {
    let json = serde_json::to_string(data).expect("what we embed has string keys only");
    html! { script type="application/json" class=(class) { (PreEscaped(escape(&json))) } }
}

/// In JSON these characters occur inside strings only, where `\u` stands for them.
fn escape(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_data_cannot_end_its_block() {
        let bad = ["</script><script>", "<!--", "\u{2028}"];
        let block = data("x", &bad).into_string();
        assert_eq!(block.matches('<').count(), 2, "{block}");
        let json = block.split(['>', '<']).nth(2).unwrap();
        assert_eq!(serde_json::from_str::<Vec<String>>(json).unwrap(), bad);
    }

    #[test]
    fn style_and_scripts_do_not_end_their_elements() {
        assert!(!STYLE.contains("</"));
        assert!(!explanation_script().contains("</"));
        assert!(!reading_script().contains("</"));
    }
}
