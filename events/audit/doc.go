// Package audit defines the audit entries that travel between readers and projectors, and the stream that carries them. A reader
// publishes one [Entry] per request with a known key, allowed or denied, many in a message. A projector writes them to PostgreSQL.
package audit
