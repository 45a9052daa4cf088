// Package vaulttest gives tests a vault.
package vaulttest

import (
	"testing"

	"callboard/projector/webhook/vault"
)

// New returns a vault with a key of 32 bytes.
func New(tb testing.TB, secret []byte) *vault.Vault {
	tb.Helper()
	key, err := vault.NewKey(secret)
	if err != nil {
		tb.Fatal(err)
	}
	v, err := vault.New(key)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
