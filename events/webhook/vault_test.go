package webhook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events/webhook"
)

// secret is part of every key and plain text of these tests, and must not be in any output.
const secret = "hunter2"

func newKey(t *testing.T, number byte) webhook.Key {
	t.Helper()
	key, err := webhook.NewKey(append(bytes.Repeat([]byte{number}, webhook.MinKeyBytes), secret...))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newVault(t *testing.T, numbers ...byte) *webhook.Vault {
	t.Helper()
	var keys []webhook.Key
	for _, n := range numbers {
		keys = append(keys, newKey(t, n))
	}
	v, err := webhook.NewVault(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVault_OpensWhatItSealed(t *testing.T) {
	t.Parallel()
	v := newVault(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		const tag = 16 // it depends on the ids
		endpoint := uuid.New()
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		first, second := v.Seal(endpoint, plain), v.Seal(endpoint, plain)
		if bytes.Equal(first.Data[:len(first.Data)-tag], second.Data[:len(second.Data)-tag]) {
			t.Fatal("sealing twice returned the same data")
		}
		if len(plain) > 3 && bytes.Contains(first.Data, plain) {
			t.Fatalf("data = %x, want it not to contain %x", first.Data, plain)
		}
		if opened, err := v.Open(endpoint, first); err != nil || !bytes.Equal(opened, plain) {
			t.Fatalf("opened = %x, error = %v, want %x", opened, err, plain)
		}
	})
}

func TestVault_ReplacesKeys(t *testing.T) {
	t.Parallel()
	endpoint := uuid.New()
	before, during, after := newVault(t, 1), newVault(t, 2, 1), newVault(t, 2)
	first, second := before.Seal(endpoint, []byte(secret)), during.Seal(endpoint, []byte(secret))
	if first.KeyID == second.KeyID || second.KeyID != during.KeyID() || during.KeyID() != after.KeyID() {
		t.Errorf("key ids = %s and %s, want the ids of two keys", first.KeyID, second.KeyID)
	}
	for _, c := range []struct {
		name   string
		vault  *webhook.Vault
		sealed webhook.Sealed
		want   error
	}{
		{"both keys, the first secret", during, first, nil},
		{"both keys, the second secret", during, second, nil},
		{"the new key, the second secret", after, second, nil},
		{"the new key, the first secret", after, first, webhook.ErrUnknownKey},
		{"the old key, the second secret", before, second, webhook.ErrUnknownKey},
	} {
		opened, err := c.vault.Open(endpoint, c.sealed)
		if !errors.Is(err, c.want) || err == nil && string(opened) != secret {
			t.Errorf("%s: opened = %q, error = %v, want error %v", c.name, opened, err, c.want)
		}
		if err != nil && (!strings.Contains(err.Error(), "CALLBOARD_WEBHOOK_KEY") || !strings.Contains(err.Error(), c.sealed.KeyID)) {
			t.Errorf("%s: error = %v, want the setting and the id of the key", c.name, err)
		}
	}
}

func TestVault_RefusesChangedData(t *testing.T) {
	t.Parallel()
	v, endpoint := newVault(t, 1), uuid.New()
	sealed := v.Seal(endpoint, []byte(secret))
	refuse := func(what string, endpoint, id uuid.UUID, data []byte) {
		t.Helper()
		_, err := v.Open(endpoint, webhook.Sealed{ID: id, KeyID: sealed.KeyID, Data: data})
		if !errors.Is(err, webhook.ErrSealed) || !strings.Contains(err.Error(), id.String()) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error = %v, want ErrInvalid with the row's id", what, err)
		}
	}
	for i := range sealed.Data {
		changed := bytes.Clone(sealed.Data)
		changed[i] ^= 1
		refuse(fmt.Sprintf("byte %d changed", i), endpoint, sealed.ID, changed)
		refuse(fmt.Sprintf("cut to %d bytes", i), endpoint, sealed.ID, sealed.Data[:i])
	}
	refuse("no data", endpoint, sealed.ID, nil)
	refuse("another endpoint", uuid.New(), sealed.ID, sealed.Data)
	refuse("another secret", endpoint, uuid.New(), sealed.Data)
	refuse("ids swapped", sealed.ID, endpoint, sealed.Data)
}

// What is stored by one release must open in the next.
func TestVault_OpensStoredData(t *testing.T) {
	t.Parallel()
	key, err := webhook.NewKey(bytes.Repeat([]byte{7}, webhook.MinKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	v, err := webhook.NewVault(key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(storedData)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, id := uuid.MustParse("0b9f0a51-5d0c-4f67-8a54-000000000001"), uuid.MustParse("0b9f0a51-5d0c-4f67-8a54-000000000002")
	opened, err := v.Open(endpoint, webhook.Sealed{ID: id, KeyID: storedKeyID, Data: data})
	if err != nil || string(opened) != "stored" {
		t.Errorf("opened = %q, error = %v, want stored", opened, err)
	}
}

const (
	storedKeyID = "b9c3b994"
	storedData  = "D06OdJNK0o73ZRM4WMZ2EUcfA0vAvefC8q5uwFPeN34gcA=="
)

func TestNew_RefusesMissingAndShortKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]webhook.Key{nil, {{}}, {newKey(t, 1), {}}} {
		if v, err := webhook.NewVault(keys...); err == nil || !strings.Contains(err.Error(), "CALLBOARD_WEBHOOK_KEY") {
			t.Errorf("%d keys: vault = %v, error = %v, want an error with the setting", len(keys), v, err)
		}
	}
	if _, err := webhook.NewKey([]byte(strings.Repeat(secret, 4))); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a short key: error = %v, want one without the key", err)
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	t.Parallel()
	key, v := newKey(t, 1), newVault(t, 1)
	for _, value := range []any{
		key, &key, []webhook.Key{key}, struct{ Key webhook.Key }{key}, struct{ hidden webhook.Key }{key},
		v, *v, struct{ Vault *webhook.Vault }{v}, struct{ hidden webhook.Vault }{*v},
	} {
		texts := make([]string, 0, 8)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			texts = append(texts, fmt.Sprintf(verb, value))
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Errorf("JSON of %T: %v", value, err)
		}
		for _, text := range append(texts, string(encoded)) {
			if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) || len(text) > 200 {
				t.Errorf("%T prints as %s", value, text)
			}
		}
	}
	if got, want := fmt.Sprint(key), "webhook key "+key.ID(); got != want || len(key.ID()) != 8 {
		t.Errorf("key = %s, want %s", got, want)
	}
}
