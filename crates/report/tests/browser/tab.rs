//! A report open in a browser: what it shows, what a person does with it, and what went wrong meanwhile.

use std::fs;

use serde_json::{Value, json};

use crate::chromium::Chromium;

pub struct Tab {
    pub chromium: Chromium,
    /// The page's own address.
    url: String,
}

impl Tab {
    /// Opens a page from a file, as a person does.
    pub fn open(page: &str) -> Tab {
        Tab::prepared(page, |_| {})
    }

    /// Opens a page after the browser was prepared for it.
    pub fn prepared(page: &str, prepare: impl FnOnce(&mut Chromium)) -> Tab {
        let chromium = Chromium::start();
        let url = format!("file://{}", chromium.directory.path().join("page.html").display());
        let mut tab = Tab { chromium, url };
        tab.resize(1400, 1000);
        prepare(&mut tab.chromium);
        tab.load(page);
        tab
    }

    /// Opens another page.
    pub fn load(&mut self, page: &str) {
        fs::write(self.chromium.directory.path().join("page.html"), page).unwrap();
        self.chromium.call("Page.navigate", json!({ "url": self.url }));
        self.chromium.wait_for("Page.loadEventFired");
    }

    pub fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.chromium.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn get(&mut self, expression: &str) -> Value {
        let call = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.chromium.call("Runtime.evaluate", call);
        let exception = &answer["exceptionDetails"];
        assert!(exception.is_null(), "{expression}: {exception}");
        answer["result"]["value"].take()
    }

    #[track_caller]
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.get(&format!("document.querySelector({})?.textContent", json!(selector)));
        text.as_str().unwrap_or_else(|| panic!("there is no {selector}")).to_owned()
    }

    #[track_caller]
    pub fn count(&mut self, selector: &str) -> u64 {
        self.get(&format!("document.querySelectorAll({}).length", json!(selector)))
            .as_u64()
            .unwrap()
    }

    #[track_caller]
    pub fn attribute(&mut self, selector: &str, name: &str) -> Option<String> {
        let (selector, name) = (json!(selector), json!(name));
        let value = self.get(&format!("document.querySelector({selector}).getAttribute({name})"));
        value.as_str().map(str::to_owned)
    }

    /// The value that the table of values shows for a variable.
    #[track_caller]
    pub fn value_of(&mut self, variable: &str) -> String {
        self.text(&format!(".values tr[data-variable=\"{variable}\"] td"))
    }

    /// Presses and releases a key; a letter types itself.
    pub fn press(&mut self, key: &str) {
        self.press_with(key, 0);
    }

    /// `modifiers` are the protocol's: 1 Alt, 2 Ctrl, 4 Meta, 8 Shift.
    pub fn press_with(&mut self, key: &str, modifiers: u32) {
        let code = match key {
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            key => key.to_uppercase().bytes().next().unwrap().into(),
        };
        let mut event = json!({
            "type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers,
        });
        if key.len() == 1 && modifiers == 0 {
            event["text"] = json!(key);
        }
        self.chromium.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.chromium.call("Input.dispatchKeyEvent", event);
    }

    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let (x, y) = self.point_at(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.chromium.call("Input.dispatchMouseEvent", event);
        }
    }

    #[track_caller]
    pub fn hover(&mut self, selector: &str) {
        self.point_at(selector);
    }

    /// Moves the pointer to the middle of an element.
    fn point_at(&mut self, selector: &str) -> (f64, f64) {
        let middle = format!(
            "(() => {{ const node = document.querySelector({});
                node.scrollIntoView({{ block: 'center' }});
                const box = node.getBoundingClientRect();
                return [box.left + box.width / 2, box.top + box.height / 2]; }})()",
            json!(selector)
        );
        let middle = self.get(&middle);
        let (x, y) = (middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap());
        let event = json!({ "type": "mouseMoved", "x": x, "y": y });
        self.chromium.call("Input.dispatchMouseEvent", event);
        (x, y)
    }

    /// All that must not happen: exceptions, messages of the console or the log, requests for anything else.
    fn trouble(&mut self) -> Vec<String> {
        // What the page still has to do is done when the browser has painted twice.
        self.get("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
        let url = &self.url;
        let is_trouble = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => true,
            "Network.requestWillBeSent" => event["params"]["request"]["url"] != url.as_str(),
            _ => false,
        };
        self.chromium.events.iter().filter(is_trouble).map(Value::to_string).collect()
    }

    #[track_caller]
    pub fn assert_no_trouble(&mut self) {
        let trouble = self.trouble();
        assert!(trouble.is_empty(), "{}", trouble.join("\n"));
    }
}
