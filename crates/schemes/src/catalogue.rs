//! Names of schemes, and how each is built from its table of parameters.

use std::collections::BTreeMap;
use std::sync::Arc;

use midpath_core::packet::Header;
use midpath_core::spec::SpecError;
use serde_json::{Map, Value};

use crate::Built;
use crate::describe::Description;
use crate::params::{self, Params, Texts};

/// The scheme of a scenario that names none.
pub const DEFAULT: &str = "newreno";
/// The scheme of flows that have a rate of their own and name no scheme.
pub const CONSTANT_RATE: &str = "udp";

/// The version of what crates outside build on: the public items of `midpath-core` and of this
/// crate. It changes when a crate that kept to it has to change; `docs/add-a-scheme.md` describes it.
pub const CONTRACT: u32 = 1;

/// Builds a scheme from its table of parameters (`null` or an empty table: all defaults).
type Builder = Arc<dyn Fn(&Value) -> Built + Send + Sync>;

/// The schemes that scenarios can name.
#[derive(Clone, Default)]
pub struct Catalogue {
    builders: BTreeMap<String, Builder>,
    descriptions: BTreeMap<String, Description>,
    /// The parameters of each scheme with their defaults, where its table of them is known.
    defaults: BTreeMap<String, Map<String, Value>>,
    /// Tags of packet headers from outside, and whose they are.
    headers: BTreeMap<u8, &'static str>,
    #[cfg(feature = "schema")]
    schemas: BTreeMap<String, schemars::Schema>,
}

impl Catalogue {
    /// No schemes at all.
    pub fn empty() -> Catalogue {
        Catalogue::default()
    }

    /// Adds a scheme, or replaces the one of that name.
    #[must_use]
    pub fn with<F>(mut self, name: &str, builder: F) -> Catalogue
    where
        F: Fn(&Value) -> Built + Send + Sync + 'static,
    {
        self.builders.insert(name.to_owned(), Arc::new(builder));
        self
    }

    /// Adds a scheme whose parameters are a `P`: unknown keys and bad values are named, editors get
    /// the schema.
    #[must_use]
    pub fn with_params<P: Params>(self, name: &'static str, build: fn(&str, P) -> Built) -> Catalogue {
        self.reading(name, build, params::read)
    }

    /// The same for parameters with a key `text`: `text = "paper"` is the paper's text alone.
    #[must_use]
    pub fn with_texts<P: Texts>(self, name: &'static str, build: fn(&str, P) -> Built) -> Catalogue {
        self.reading(name, build, params::read_text)
    }

    fn reading<P: Params>(
        mut self,
        name: &'static str,
        build: fn(&str, P) -> Built,
        read: fn(&Value) -> Result<P, SpecError>,
    ) -> Catalogue {
        #[cfg(feature = "schema")]
        self.schemas.insert(name.to_owned(), schemars::schema_for!(P));
        self.defaults.insert(name.to_owned(), params::defaults::<P>());
        self.builders.insert(name.to_owned(), Arc::new(move |value| build(name, read(value)?)));
        self
    }

    /// Says what a scheme is, needs, costs and shows: tables and reports then treat it like ours.
    #[must_use]
    pub fn described(mut self, name: &str, description: Description) -> Catalogue {
        self.descriptions.insert(name.to_owned(), description);
        self
    }

    /// Whether a scheme refuses a parameter of its table, because it has that in hand itself.
    fn unread(&self, name: &str, key: &str) -> bool {
        self.description(name).is_some_and(|own| own.unread.contains(&key))
    }

    /// The parameters that a scheme reads, with their defaults, if its table of them is known.
    pub fn parameters(&self, name: &str) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.defaults.get(name).into_iter().flatten().map(|(key, value)| (key.as_str(), value));
        all.filter(move |(key, _)| !self.unread(name, key))
    }

    /// The first parameter of a table that the scheme does not read, with who does.
    fn refused(&self, name: &str, params: &Value) -> Option<SpecError> {
        let key = self.description(name)?.unread.iter().find(|key| params.get(key).is_some())?;
        let readers = self.names().filter(|name| self.parameters(name).any(|(own, _)| own == *key));
        let readers: Vec<&str> = readers.collect();
        Some(SpecError::new(*key, format!("has no effect on `{name}`: leave it out. {} read it", readers.join(", "))))
    }

    /// Says that packets of these schemes carry this header.
    #[must_use]
    pub fn with_header<H: Header>(mut self) -> Catalogue {
        self.headers.insert(H::TAG, std::any::type_name::<H>());
        self
    }

    /// All schemes of two catalogues: those that a crate outside brings, and the others. Refuses
    /// names and tags of headers that both have.
    pub fn joined(mut self, other: Catalogue) -> Result<Catalogue, String> {
        if let Some(name) = other.names().find(|name| self.contains(name)) {
            return Err(format!("two schemes are named `{name}`: give one another name"));
        }
        for (tag, header) in &other.headers {
            if let Some(taken) = self.headers.get(tag) {
                return Err(format!("{taken} and {header} have the same tag {tag}: give one another, 64 to 127"));
            }
        }
        self.extend(other);
        Ok(self)
    }

    pub(crate) fn extend(&mut self, other: Catalogue) {
        self.builders.extend(other.builders);
        self.descriptions.extend(other.descriptions);
        self.defaults.extend(other.defaults);
        self.headers.extend(other.headers);
        #[cfg(feature = "schema")]
        self.schemas.extend(other.schemas);
    }

    /// Whether flows of a scheme read a key of theirs, such as `weight`: else what an error says. A scheme that says
    /// nothing of itself may read all.
    pub fn check_flow_key(&self, name: &str, key: &str) -> Result<(), String> {
        let reads = |own: &Description| own.reads.contains(&key);
        if self.description(name).is_none_or(reads) {
            return Ok(());
        }
        let readers: Vec<&str> =
            self.descriptions.iter().filter(|(_, own)| reads(own)).map(|(name, _)| name.as_str()).collect();
        Err(format!("has no effect on `{name}`: leave it out. {} read it", readers.join(", ")))
    }

    /// What a scheme says of itself, if it does.
    pub fn description(&self, name: &str) -> Option<&Description> {
        self.descriptions.get(name)
    }

    /// Builds the scheme `name` with `params`. Errors name the key within `params`; an unknown name
    /// has an empty key.
    pub fn build(&self, name: &str, params: &Value) -> Built {
        match self.builders.get(name) {
            Some(builder) => self.refused(name, params).map_or_else(|| builder(params), Err),
            None => {
                let known: Vec<&str> = self.names().collect();
                Err(SpecError::new("", format!("there is no scheme `{name}`; choose one of {}", known.join(", "))))
            }
        }
    }

    /// Whether there is a scheme of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.builders.contains_key(name)
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.builders.keys().map(String::as_str)
    }

    /// The JSON Schema of the parameters that a scheme reads, if it was added with [`Catalogue::with_params`].
    #[cfg(feature = "schema")]
    pub fn schema(&self, name: &str) -> Option<schemars::Schema> {
        let mut schema = self.schemas.get(name)?.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|key, _| !self.unread(name, key));
        }
        Some(schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fcp, rcp};
    use serde_json::json;

    #[test]
    fn the_standard_schemes_build_with_their_defaults() {
        let catalogue = Catalogue::standard();
        for name in catalogue.names() {
            for params in [json!(null), json!({})] {
                assert_eq!(catalogue.build(name, &params).map(|s| s.name().to_owned()), Ok(name.to_owned()));
            }
        }
    }

    #[test]
    fn each_standard_scheme_says_what_it_is_and_who_must_run_it() {
        let catalogue = Catalogue::standard();
        for name in catalogue.names() {
            let own = catalogue.description(name).unwrap_or_else(|| panic!("{name} says nothing of itself"));
            let scheme = catalogue.build(name, &json!({})).expect("builds with its defaults");
            assert!(!own.title.is_empty() && own.summary.ends_with('.'), "{name}");
            assert_eq!(own.hosts.is_empty(), scheme.transport().is_none(), "{name}: hosts run {:?}", own.hosts);
            assert!(own.routers.is_empty() || scheme.network().is_some(), "{name}: routers run {:?}", own.routers);
            assert!(!own.needs_marks || own.aqm.is_some() && !own.routers.is_empty(), "{name} gets marks by default");
            for gauges in [&own.ports, &own.flows] {
                let names: std::collections::BTreeSet<_> = gauges.iter().map(|g| g.name).collect();
                assert_eq!(names.len(), gauges.len(), "{name} names a gauge twice");
            }
        }
        let looks: Vec<_> = catalogue.names().filter_map(|n| catalogue.description(n)?.look).collect();
        assert!(looks.iter().enumerate().all(|(i, look)| !looks[..i].contains(look)), "two schemes look alike");
    }

    /// A header from outside with some tag.
    #[derive(Clone, Copy)]
    struct Tagged<const TAG: u8>;

    impl<const TAG: u8> Header for Tagged<TAG> {
        const TAG: u8 = TAG;
        fn body_len(&self) -> usize {
            0
        }
        fn put(&self, _out: &mut [u8]) {}
        fn get(_body: &[u8]) -> Option<Self> {
            Some(Tagged)
        }
    }

    #[test]
    fn catalogues_are_joined_unless_names_or_tags_are_the_same() {
        let outside = |name| {
            Catalogue::empty().with(name, |_| Err(SpecError::new("", "built"))).described(name, Description::default())
        };
        let both = Catalogue::standard().joined(outside("mine").with_header::<Tagged<64>>()).expect("a new name");
        assert!(both.contains("mine") && both.contains("cubic") && both.description("mine").is_some());
        assert_eq!(both.build("mine", &json!({})).map(|_| ()).unwrap_err().message, "built");
        let refused = |other| both.clone().joined(other).map(|_| ()).unwrap_err();
        assert!(refused(outside("mine")).contains("two schemes are named `mine`"));
        assert!(refused(outside("cubic")).contains("two schemes are named `cubic`"));
        let tag = refused(outside("yours").with_header::<Tagged<64>>());
        assert!(tag.contains("Tagged<64> and") && tag.contains("have the same tag 64"), "{tag}");
        assert!(both.joined(outside("yours").with_header::<Tagged<65>>()).is_ok());
    }

    #[test]
    fn the_parameter_that_says_how_much_is_stored_exists() {
        let catalogue = Catalogue::standard();
        for name in catalogue.names() {
            if let Some(key) = catalogue.description(name).and_then(|d| d.store) {
                let unknown = catalogue.build(name, &json!({key: []})).map(|_| ()).unwrap_err();
                assert_eq!((unknown.key.as_str(), unknown.message.contains("is not a parameter")), (key, false));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |name, params| Catalogue::standard().build(name, &params).map(|_| ()).unwrap_err();
        assert!(error("vegas", json!({})).message.contains("cubic, dcqcn"));
        let e = error("cubic", json!({"mn_rto": "1 s"}));
        assert_eq!(e.key, "mn_rto");
        assert!(e.message.contains("min_rto") && e.message.contains("fast_convergence"), "{e}");
        assert_eq!(error("cubic", json!({"sack": false, "min_rto": "1 parsec"})).key, "min_rto");
        assert_eq!(error("cubic", json!({"beta": 1.5})).key, "beta");
        assert_eq!(error("dctcp", json!({"g": "0 %"})).key, "g");
        assert_eq!(error("newreno", json!({"delayed_ack": 0})).key, "delayed_ack");
        assert_eq!(error("newreno", json!({"beta": 0.5})).key, "beta");
        assert_eq!(error("newreno", json!([1])).key, "");
        let unread = error("bbr", json!({"hystart": true}));
        let (said, readers) = unread.message.split_once(". ").expect("two sentences");
        assert_eq!((unread.key.as_str(), said), ("hystart", "has no effect on `bbr`: leave it out"));
        let catalogue = Catalogue::standard();
        let reads = |name: &&str| catalogue.build(name, &json!({"hystart": true})).is_ok();
        let all = catalogue.names().filter(reads).collect::<Vec<_>>();
        assert!(all.contains(&"cubic") && readers == format!("{} read it", all.join(", ")), "{readers}");
    }

    #[test]
    fn units_are_read_as_people_write_them() {
        let params = json!({"min_rto": "10 ms", "delack_timeout": "1 ms", "g": "6.25 %", "initial_alpha": 0.5,
            "delayed_ack": false, "receive_window": "4 MB", "recovery": "rfc6675", "growth": "per-ack"});
        assert!(Catalogue::standard().build("dctcp", &params).is_ok());
    }

    #[test]
    fn a_scheme_may_have_its_own_default_for_what_tcps_share() {
        let own: rcp::RcpParams = crate::params::read(&json!({"min_rto": "10 ms"})).expect("valid");
        assert_eq!(own.tcp.delayed_ack.0, 1);
        let said: rcp::RcpParams = crate::params::read(&json!({"delayed_ack": true})).expect("valid");
        assert_eq!(said.tcp.delayed_ack.0, 2);
    }

    #[test]
    fn an_outside_scheme_is_one_call() {
        let catalogue = Catalogue::standard().with("mine", |p| Catalogue::standard().build("cubic", p));
        assert!(catalogue.contains("mine") && catalogue.build("mine", &json!({})).is_ok());
    }

    /// Where a scheme has a page: there, or on TCP's, what it shares with TCP and has the same default of.
    #[test]
    fn every_parameter_is_documented_with_its_default() {
        let catalogue = Catalogue::standard();
        for name in catalogue.names() {
            // An attack is on the page of what it attacks.
            let Some(own) = page(name).or_else(|| page(name.split('-').next()?)) else { continue };
            for (key, value) in catalogue.parameters(name) {
                let of_tcp = name != "newreno" && catalogue.parameters("newreno").any(|shared| shared == (key, value));
                let found = value.is_object() || of_tcp || documented(&own, key, value);
                assert!(found, "the page of {name} lacks `{key}` with its default {value}");
            }
        }
        let fcp = page("fcp").expect("there is one");
        let tables = [
            serde_json::to_value(fcp::params::GroupParams::default()),
            serde_json::to_value(fcp::params::NetworkParams::default()),
        ];
        for (key, value) in tables.iter().flatten().filter_map(Value::as_object).flatten() {
            assert!(value.is_object() || documented(&fcp, key, value), "FCP's page lacks `{key}`");
        }
    }

    /// The page of a scheme, if it has one: its own, that of its folder, or TCP's.
    fn page(name: &str) -> Option<String> {
        let pages = [format!("../../docs/schemes/{name}.md"), format!("src/{name}/README.md")];
        let own = pages.iter().find_map(|file| std::fs::read_to_string(file).ok());
        let tcp = || std::fs::read_to_string("../../docs/schemes/tcp.md").ok();
        own.or_else(|| tcp().filter(|page| page.lines().next().is_some_and(|all| all.contains(&format!("`{name}`")))))
    }

    /// Whether a page has a row with a parameter and its default.
    fn documented(page: &str, key: &str, value: &Value) -> bool {
        let value = value.as_str().map_or(value.to_string(), str::to_owned);
        let values = if value == "null" { vec!["by scheme", "unset"] } else { vec![value.as_str()] };
        values.iter().any(|value| page.contains(&format!("| `{key}` | {value} |")))
    }

    #[cfg(feature = "schema")]
    #[test]
    fn every_parameter_is_in_the_schema() {
        let catalogue = Catalogue::standard();
        let cubic = catalogue.schema("cubic").expect("cubic has parameters");
        for key in ["sack", "min_rto", "beta", "fast_convergence"] {
            assert!(cubic.as_value()["properties"].get(key).is_some(), "{key} in {cubic:?}");
        }
    }
}
