//! Methods that no client calls: of these, a check says nothing.

use lang::source::Source;

use super::Refinement;
use super::clients::{Client, Op};
use super::text::text;
use crate::allowed::Options;
use crate::asking::Refused;

impl Refinement {
    /// The methods that are called in none of the clients, or only in such as misuse the library.
    pub fn uncalled(&self, clients: &[Client], options: &Options) -> Vec<String> {
        let methods = self.library().methods.iter().enumerate();
        let uncalled = methods.filter(|(number, _)| {
            let calls = |client: &&Client| {
                let mut ops = client.threads.iter().flat_map(|(_, ops)| ops);
                ops.any(|op| matches!(op, Op::Call { method, .. } if method == number))
            };
            !clients.iter().filter(calls).any(|client| self.is_client(client, options))
        });
        uncalled.map(|(_, method)| method.name.clone()).collect()
    }

    /// Whether a client keeps the library's rules.
    fn is_client(&self, client: &Client, options: &Options) -> bool {
        let program = text(client, self.library(), None);
        let (test, _) = lang::litmus::load(&Source::new("client", program));
        test.is_some_and(|test| {
            !matches!(self.specification(&test, options), Err(Refused::Misuse(_)))
        })
    }
}
