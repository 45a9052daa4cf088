// Package docs publishes the API's contract: which operations are approved, their OpenAPI 3.1 description, and the
// page that renders it.
//
// The description is written by hand, in one file per resource under openapi. At start it is completed: its only
// server is the base URL, it includes an operation only if approval.json lists it, and the operation's lifecycle
// stage is the one in that record. Components that no approved operation references are left out.
//
// Beside the page is a guide for receivers of webhooks. They are no operations, so the description does not mention
// them.
//
// contract.txt lists one published fact per line. A test fails if a line disappears: within a major version the
// contract only grows.
package docs
