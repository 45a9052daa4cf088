package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Pepper is the secret under which keys are hashed. It lives in the programs' settings and never in the database, so that a
// copy of the table alone verifies nothing. Its id tells which pepper a key was hashed under, so that peppers can be rotated.
// A Pepper prints as its id. The zero Pepper is none.
type Pepper struct {
	id     string
	secret *string // behind a pointer, which is all that shows of it in a printed struct that holds a Pepper
}

const pepperLength = 32

var errPepper = errors.New("a key pepper is 32 bytes or more, in base64")

// NewPepper makes a pepper of 32 bytes or more.
func NewPepper(secret []byte) (Pepper, error) {
	if len(secret) < pepperLength {
		return Pepper{}, errPepper
	}
	kept := string(secret)
	digest := sha256.Sum256(secret)
	return Pepper{id: hex.EncodeToString(digest[:4]), secret: &kept}, nil
}

// ParsePepper reads a pepper as [DecodeSecret] does. The error never holds any of text.
func ParsePepper(text string) (Pepper, error) {
	secret, err := DecodeSecret(text)
	if err != nil {
		return Pepper{}, errPepper
	}
	return NewPepper(secret)
}

// DecodeSecret reads base64, standard or URL alphabet, padded or not.
func DecodeSecret(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(text), "="))
	return base64.RawStdEncoding.DecodeString(text)
}

// ID is the first 8 hexadecimal digits of the pepper's SHA-256.
func (p Pepper) ID() string { return p.id }

// String names the pepper.
func (p Pepper) String() string { return "pepper " + p.id }

// Format prints [Pepper.String] whatever the verb, so that no verb shows the secret.
func (p Pepper) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// MarshalText writes [Pepper.String].
func (p Pepper) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// hash is what is stored of a key.
func (p Pepper) hash(k Key) []byte {
	mac := hmac.New(sha256.New, []byte(*p.secret))
	mac.Write([]byte(k.Reveal()))
	return mac.Sum(nil)
}
