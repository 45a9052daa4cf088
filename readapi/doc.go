// Package readapi serves the 24 read operations of the phone system API over HTTP.
//
// Every request passes the same steps, in this order:
//
//	route ── 404, 405 (whatever the key; the audit has it)
//	  │ credential ── 401, 403 ┐
//	  │ address ────────── 403 │ one statement
//	  │ identifiers ────── 400 │ on the primary
//	  │ scope ──────────── 403 │ (access)
//	  │ quota ──────────── 429 │
//	  │ coverage ───────── 404 ┘
//	  │ parameters ─────── 400
//	  │ memory ─────────── 503: bytes for the response
//	  └ data ───────────── 200, 304, 404: one statement on the projection (query)
//
// The rules:
//
//   - The table in operations.go lists the operations. Most of them are a query, its fields and its filters, which
//     topologyList, datedList or detail make into a handler.
//   - The reader serves the operations that the approval record (docs) lists. Tests check the OpenAPI description
//     against both, and every response against the description.
//   - Handlers return errors. One function maps errors to problem documents, and one function writes responses.
//     Nothing is written before the response is complete, so every failure is answered with a problem document.
//   - A resource that does not exist, was deleted, belongs to another tenant, is not covered or is not in the
//     contract: all have the same status, headers and body.
//   - All problems of a request's parameters are reported together. An unknown parameter is an error: a mistyped
//     filter must not return unfiltered data.
//   - Bodies are appended to pooled buffers. Times have three decimals, null members are present, and stored text is
//     only escaped.
//   - The cause of a 5xx is logged once, in the request's line, and never sent. Keys, headers and query strings are
//     not logged.
//
// net/http itself refuses some requests before the handler runs, without a problem document. SECURITY.md lists them.
package readapi
