// Package access authorizes requests by their API key, and issues, rolls and revokes keys.
//
// A key is sk_phones_<short>_<secret>. The short part is public and identifies the row. The secret has 43 base62
// characters, 256 bits, and a checksum: a mistyped key is refused without a query, and scanners recognize leaked
// keys. Only the HMAC-SHA-256 of the whole key is stored, under a pepper that is never in the database.
//
// Rules:
//
//   - The primary decides about each request that is allowed: the key, its expiry and revocation, the coverage of the
//     phone system in the path, and whether the extension that narrows the key was deleted. That is one statement;
//     where rows are on nodes, the coverage takes one or two more. No permission is cached, so a revocation takes
//     effect with the next request. Dead keys are remembered for a minute.
//   - A phone system that is absent, deleted, another tenant's or outside the grant is not covered. These cases
//     cannot be told apart.
//   - The primary also tells how old the coverage of a group or an organization is. The caller decides which age it
//     accepts.
//   - Every credential that is not a live key is denied in the same way. Only the log has the reason.
//   - Rolling a key creates a new key of the same lineage with the same rights. Both share one budget. Only the
//     newest live key of a lineage can be rolled.
//   - The reader's role can only select. [Registry] writes keys, as the operator's role.
//   - Keys and peppers do not print, neither with fmt nor with encoding/json, nor inside another struct.
package access
