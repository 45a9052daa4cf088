// Package readapi answers the 24 read operations of the phone system API, and nothing else.
//
// A request goes one way, and every operation goes the same:
//
//	route ── 404, 405
//	  │ credential ── 401, 403 ┐
//	  │ address ────────── 403 │ one statement
//	  │ identifiers ────── 400 │ on the primary
//	  │ scope ──────────── 403 │ (access)
//	  │ rate ───────────── 429 │
//	  │ coverage ───────── 404 ┘
//	  │ parameters ─────── 400
//	  └ data ───────────── 200, 304, 404: one statement on the projection (query)
//
// The laws:
//
//   - The register in operations.go is the list of operations. A resource is a query, its fields and its filters, put together
//     by topologyList, datedList or detail. There are no handler bodies that could drift apart.
//   - What of it is served is what the approval record (docs) lists. The OpenAPI description is checked against both, and every
//     answer in the tests against the description.
//   - Operations return errors; one table maps errors to problem documents, and one function writes answers. Nothing is written
//     before the answer is whole, so a fault at any point is still a problem document.
//   - Absent, deleted, another tenant's, not covered, outside the contract: one code, one body, the same headers.
//   - All that is wrong with a request's parameters is reported at once. A parameter that is not known is an error, never
//     ignored: a mistyped filter must not answer with unfiltered data.
//   - Bodies are appended to pooled buffers. Times have three decimals, nulls are there, text is escaped and otherwise as stored.
//   - The cause of a 5xx is logged, once, in the request's one line, and never sent. Keys, headers and query strings are not
//     logged.
//
// What net/http itself refuses never comes here and is no problem document: a request that is not HTTP, a missing or malformed
// Host (400), an Expect that it does not know (417), headers beyond the server's limit (431), a Transfer-Encoding that it does
// not know (501).
package readapi
