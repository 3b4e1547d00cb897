//! JSON objects that tell whether they are what was written, by a digest of their fields: a line that was
//! lost or a word that was changed on the way is seen before anything is made of it.

use serde_json::Value as Json;

use crate::digest::Digest;

/// The field of the digest, the last one.
const FIELD: &str = "digest";

/// A digest of an object's fields, in their order.
#[derive(Default)]
pub struct Seal(Digest);

impl Seal {
    /// Takes up a field.
    pub fn field(&mut self, name: &str, value: &Json) {
        self.0.add(name);
        match value {
            // As if they came one by one, as they do where they are printed as soon as they are known.
            Json::Array(all) => all.iter().for_each(|element| self.element(&element.to_string())),
            value => self.0.add(&value.to_string()),
        }
    }

    /// Takes up the name of an array's field, whose elements follow.
    pub fn array(&mut self, name: &str) {
        self.0.add(name);
    }

    /// Takes up an array's element, as its text.
    pub fn element(&mut self, text: &str) {
        self.0.add(text);
    }

    /// The digest's field, as the text of an object has it.
    pub fn text(&self) -> String {
        format!("\"{FIELD}\":\"{}\"", self.0.text())
    }

    fn of(json: &Json) -> Self {
        let mut seal = Self::default();
        let fields = json.as_object().into_iter().flatten();
        fields.for_each(|(name, value)| seal.field(name, value));
        seal
    }
}

/// Adds the digest to an object.
pub fn seal(json: &mut Json) {
    json[FIELD] = Seal::of(json).0.text().into();
}

/// Takes the digest out of an object that may have one; whether there was one.
///
/// # Errors
/// That the object is not what was written.
pub fn unseal(json: &mut Json) -> Result<bool, String> {
    let Some(written) = json.as_object_mut().and_then(|fields| fields.shift_remove(FIELD)) else {
        return Ok(false);
    };
    let found = Seal::of(json).0.text();
    if written == found.as_str() {
        return Ok(true);
    }
    let written = written.as_str().unwrap_or_default();
    Err(format!(
        "expected the digest {written}, found {found}: it was changed since it was written"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_are_seen() {
        let plain =
            json!({ "a": [1, { "b": "c" }], "d": null, "e": 18_446_744_073_709_551_615_u64 });
        let mut sealed = plain.clone();
        seal(&mut sealed);
        let mut again: Json = serde_json::from_str(&sealed.to_string()).unwrap_or_default();
        assert_eq!(unseal(&mut again), Ok(true));
        assert_eq!(again, plain);
        assert_eq!(unseal(&mut again), Ok(false));
        let changes: [fn(&mut Json); 4] = [
            |json| drop(json["a"].as_array_mut().map(|all| all.remove(0))),
            |json| json["a"][1]["b"] = json!("d"),
            |json| json["e"] = json!(0),
            |json| drop(json.as_object_mut().map(|fields| fields.shift_remove("d"))),
        ];
        for change in changes {
            let mut changed = sealed.clone();
            change(&mut changed);
            assert!(unseal(&mut changed).is_err(), "{changed}");
        }
    }
}
