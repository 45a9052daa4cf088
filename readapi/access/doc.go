// Package access decides what a credential may read, and issues the keys that it decides about.
//
// A key is sk_phones_<short>_<secret>. The short part is public and finds the row; the secret is 43 base62 characters, 256
// bits, followed by a checksum, so that a mistyped key is refused without asking the database and a scanner can tell a leaked
// key from noise. Stored is only HMAC-SHA-256 of the whole key under a pepper that the database never sees.
//
// The laws:
//
//   - One statement against the primary decides on every request: the key, its expiry and revocation, the coverage of the
//     path's phone system, and whether the extension that narrows the key is alive. Nothing is cached, so a revocation holds
//     for the next request.
//   - A phone system that is absent, deleted, another tenant's or outside the grant is one and the same: not covered.
//   - Every credential that is no live key is refused alike. Why it was refused is for the log.
//   - A roll makes a new key of the same lineage, with the same rights, and both share one budget. Only the newest live key of a
//     lineage can be rolled.
//   - The reader's role can only select. Keys are written by [Registry], under the operator's role.
//   - Keys and peppers do not print: not through fmt, not through encoding/json, not inside another struct.
package access
