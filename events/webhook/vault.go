package webhook

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"
)

// keySetting is the environment variable that holds the keys. Errors name it.
const keySetting = "CALLBOARD_WEBHOOK_KEY"

// Errors of [Vault.Open], to be compared with [errors.Is].
var (
	// ErrUnknownKey says that the secret was sealed with a key that the vault does not have.
	ErrUnknownKey = errors.New("unknown webhook key")

	// ErrSealed says that the data was changed, or belongs to another secret or endpoint.
	ErrSealed = errors.New("the sealed data was changed, or belongs to another secret or endpoint")
)

// Vault seals and opens the secrets of endpoints. It is safe for concurrent use, and prints without its keys.
type Vault struct {
	keys []Key
}

// Sealed is an encrypted secret as the database stores it.
type Sealed struct {
	ID    uuid.UUID `json:"id"`
	KeyID string    `json:"key_id"`
	Data  []byte    `json:"sealed"`
}

// NewVault returns a vault that seals with the first key and opens with any, so that keys can be replaced.
func NewVault(keys ...Key) (*Vault, error) {
	if len(keys) == 0 || slices.Contains(keys, Key{}) {
		return nil, errors.New("webhook keys: at least one is needed: set " + keySetting)
	}
	return &Vault{keys: slices.Clone(keys)}, nil
}

// KeyID returns the id of the key that seals. What another key sealed still opens, as long as the vault has that key.
func (v *Vault) KeyID() string { return v.keys[0].id }

// Format prints a label for every verb.
func (v *Vault) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "webhook vault") }

// MarshalText returns a label.
func (v *Vault) MarshalText() ([]byte, error) { return []byte("webhook vault"), nil }

// Seal encrypts a secret, which gets a new id. Only with the same ids of endpoint and secret can it be opened. Sealing
// twice returns different data.
func (v *Vault) Seal(endpoint uuid.UUID, plain []byte) Sealed {
	key, id := v.keys[0], uuid.New()
	return Sealed{ID: id, KeyID: key.id, Data: (*key.aead).Seal(nil, nil, plain, ids(endpoint, id))}
}

// Open decrypts a secret. Its errors wrap [ErrUnknownKey] or [ErrSealed], name both ids, and contain neither keys nor
// secrets.
func (v *Vault) Open(endpoint uuid.UUID, sealed Sealed) ([]byte, error) {
	i := slices.IndexFunc(v.keys, func(k Key) bool { return k.id == sealed.KeyID })
	if i < 0 {
		return nil, fmt.Errorf("open secret %s of endpoint %s: %w %q: add that key to %s", sealed.ID, endpoint,
			ErrUnknownKey, sealed.KeyID, keySetting)
	}
	plain, err := (*v.keys[i].aead).Open(nil, nil, sealed.Data, ids(endpoint, sealed.ID))
	if err != nil {
		return nil, fmt.Errorf("open secret %s of endpoint %s: %w", sealed.ID, endpoint, ErrSealed)
	}
	return plain, nil
}

// ids returns what identifies a secret, as additional data of the encryption.
func ids(endpoint, secret uuid.UUID) []byte { return slices.Concat(endpoint[:], secret[:]) }

// MinKeyBytes is the smallest length of a key's secret in bytes.
const MinKeyBytes = 32

// Key encrypts and decrypts secrets. It is a setting of the programs and never in the database. It prints as its id.
// The zero Key is not a key.
type Key struct {
	id   string
	aead *cipher.AEAD // a pointer, so that printing a struct that contains a Key shows only an address
}

// NewKey derives a key from a secret of [MinKeyBytes] bytes or more (HKDF, RFC 5869). The error does not contain any of
// the secret.
func NewKey(secret []byte) (Key, error) {
	if len(secret) < MinKeyBytes {
		return Key{}, fmt.Errorf("webhook key: the secret has %d bytes: use at least %d", len(secret), MinKeyBytes)
	}

	key, err := hkdf.Key(sha256.New, secret, nil, "callboard webhook secrets", 32)
	if err != nil {
		return Key{}, fmt.Errorf("webhook key: %w", err)
	}

	// The id is derived beside the key, so it says nothing about it.
	id, err := hkdf.Key(sha256.New, secret, nil, "callboard webhook key id", 4)
	if err != nil {
		return Key{}, fmt.Errorf("webhook key: %w", err)
	}

	block, err := aes.NewCipher(key)
	if err != nil {
		return Key{}, fmt.Errorf("webhook key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return Key{}, fmt.Errorf("webhook key: %w", err)
	}
	return Key{id: hex.EncodeToString(id), aead: &aead}, nil
}

// ID returns 8 hexadecimal digits that are stored beside what the key encrypted.
func (k Key) ID() string { return k.id }

// String returns the key's id with a label.
func (k Key) String() string { return "webhook key " + k.id }

// Format prints [Key.String] for every verb, so that no verb shows the key.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText returns [Key.String].
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
