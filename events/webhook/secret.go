package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	secretPrefix = "whsec_"

	// newSecretBytes is the length of a new secret; the others limit those of other makers.
	newSecretBytes = 32
	minSecretBytes = 24
	maxSecretBytes = 64
)

// Secret is what requests to an endpoint are signed with: "whsec_" and 24 to 64 bytes in base64. It does not print. The bytes are behind a
// pointer, because fmt prints unexported fields without their methods.
type Secret struct{ key *[]byte }

// NewSecret returns a random secret of 32 bytes.
func NewSecret() Secret {
	key := make([]byte, newSecretBytes)
	_, _ = rand.Read(key) // never fails
	return Secret{&key}
}

// ParseSecret reads a secret. Its error contains no part of the text.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), secretPrefix)
	if !ok {
		return Secret{}, errors.New("webhook secret: must begin with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return Secret{}, fmt.Errorf("webhook secret: must be whsec_ and %d to %d bytes in base64", minSecretBytes, maxSecretBytes)
	}
	return Secret{&key}, nil
}

// Reveal returns the secret as text.
func (s Secret) Reveal() string { return secretPrefix + base64.StdEncoding.EncodeToString(s.bytes()) }

func (s Secret) bytes() []byte {
	if s.key == nil {
		return nil
	}
	return *s.key
}

// String returns a placeholder.
func (s Secret) String() string { return "[secret]" }

// Format prints the placeholder for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText writes the placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
