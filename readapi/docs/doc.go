// Package docs is the contract as customers and machines read it: which operations are approved, their OpenAPI 3.1
// description, and the page that shows it.
//
// The description is written by hand, a file per resource in openapi, and completed at start: the one server is the base URL,
// an operation is in it only if approval.json lists it, and its lifecycle stage is what that record says. Components that no
// approved operation leads to are left out.
//
// contract.txt is what is published, a fact a line. A test refuses a change that takes a line away: within a major version the
// contract only grows.
package docs
