package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// MinSecret is the smallest length of a key's secret in bytes.
const MinSecret = 32

// Key encrypts and decrypts secrets. It is a setting of the programs and never in the database. It prints as its id. The zero Key is not
// a key.
type Key struct {
	id   string
	aead *cipher.AEAD // a pointer, so that printing a struct that contains a Key shows only an address
}

// NewKey derives a key from a secret of [MinSecret] bytes or more (HKDF, RFC 5869). The error does not contain any of the secret.
func NewKey(secret []byte) (Key, error) {
	if len(secret) < MinSecret {
		return Key{}, fmt.Errorf("webhook key: the secret has %d bytes: use at least %d", len(secret), MinSecret)
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
