// Package vault encrypts the signing secrets of webhook endpoints, so that a copy of the database alone signs nothing.
package vault
