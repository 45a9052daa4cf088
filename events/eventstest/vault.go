package eventstest

import (
	"testing"

	"callboard/events/webhook"
)

// NewVault returns a vault for the secrets of webhooks, with one key of 32 bytes or more.
func NewVault(tb testing.TB, secret []byte) *webhook.Vault {
	tb.Helper()
	key, err := webhook.NewKey(secret)
	if err != nil {
		tb.Fatal(err)
	}
	v, err := webhook.NewVault(key)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
