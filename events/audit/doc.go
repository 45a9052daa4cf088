// Package audit is the record of who asked for what: one [Entry] per request with a known key, allowed or denied. Readers put
// entries on a stream of their own, many in a message, and the projector files them.
package audit
