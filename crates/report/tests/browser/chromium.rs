//! Chromium without a window, driven over a pipe: a small client of the Chrome DevTools protocol.
//!
//! Messages are JSON, ended by NUL, on the descriptors 3 and 4 of the browser. A message with an `id` answers a call,
//! one without is an event; events are kept for whoever asks.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// No answer takes that long; then the browser is stuck.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the browser may take to end.
const FAREWELL: Duration = Duration::from_secs(10);

const FLAGS: [&str; 11] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "--force-device-scale-factor=1",
];

pub struct Chromium {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    calls: u64,
    session: Option<String>,
    /// Events that nobody has waited for, oldest first.
    pub events: Vec<Value>,
    pub directory: TempDir,
}

impl Chromium {
    /// A browser with one empty page.
    pub fn start() -> Chromium {
        let directory = tempfile::tempdir().unwrap();
        // The shell gives our two pipes the numbers that the browser expects.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2", "sh"])
            .arg(program())
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let events = Vec::new();
        let mut chromium =
            Chromium { process, input, messages, calls: 0, session: None, events, directory };
        let page = chromium.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = chromium.call("Target.attachToTarget", target);
        chromium.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            chromium.call(&format!("{domain}.enable"), json!({}));
        }
        chromium
    }

    /// Calls a method of the page and returns its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap_or_else(|e| panic!("Chromium has ended: {e}"));
        loop {
            let mut message = self.receive(method);
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// Waits for an event, which may have come already.
    #[track_caller]
    pub fn wait_for(&mut self, event: &str) {
        while !self.events.iter().any(|message| message["method"] == event) {
            let message = self.receive(event);
            self.events.push(message);
        }
        self.events.retain(|message| message["method"] != event);
    }

    #[track_caller]
    fn receive(&self, what: &str) -> Value {
        let message = self.messages.recv_timeout(PATIENCE);
        message.unwrap_or_else(|e| panic!("Chromium does not answer ({what}): {e}"))
    }
}

impl Drop for Chromium {
    /// Lets the browser end by itself, because its processes write into the directory until then.
    fn drop(&mut self) {
        let close = format!("{}\0", json!({ "id": 0, "method": "Browser.close" }));
        if self.input.write_all(close.as_bytes()).is_ok() {
            while self.messages.recv_timeout(FAREWELL).is_ok() {}
        }
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The browser of this system. Without one these tests can tell nothing, so they fail.
fn program() -> PathBuf {
    if let Some(program) = env::var_os("CHROMIUM") {
        return program.into();
    }
    let directories: Vec<PathBuf> =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut candidates =
        names.iter().flat_map(|name| directories.iter().map(move |d| d.join(name)));
    candidates.find(|candidate| candidate.is_file()).expect(
        "the HTML report is tested in Chromium, and none was found: install the package `chromium`, or set $CHROMIUM",
    )
}
