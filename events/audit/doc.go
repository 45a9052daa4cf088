// Package audit defines the audit entries that travel between readers and projectors, and the stream that carries them. A reader
// publishes one [Entry] per request that was granted a permit, and counts in its entries the requests of known keys that were not. Many
// entries travel in a message. A projector writes them to PostgreSQL.
package audit
