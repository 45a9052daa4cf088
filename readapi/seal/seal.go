// Package seal makes short messages that travel through clients' hands opaque and unforgeable.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// MinSecret is how many bytes a secret has at least.
const MinSecret = 32

// Sealer seals messages of one purpose with AES-256-GCM. What is sealed for one purpose can't be opened for another. Its
// methods may be called from several goroutines.
type Sealer struct {
	aead cipher.AEAD
}

// New is the Sealer of a purpose; its key is derived from the secret (HKDF, RFC 5869). The error is a secret that is too short.
func New(secret []byte, purpose string) (*Sealer, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("a secret of %d bytes or more is needed", MinSecret)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "callboard "+purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead}, nil
}

// Seal is the message in a form that fits into a URL. Sealing twice gives two texts.
func (s *Sealer) Seal(message []byte) string {
	return encoding().EncodeToString(s.aead.Seal(nil, nil, message, nil))
}

// ErrForeign is a text that was not sealed by a Sealer of the same secret and purpose, or was altered since.
var ErrForeign = errors.New("not sealed here")

// Open is the message in a sealed text. The error is [ErrForeign].
func (s *Sealer) Open(sealed string) ([]byte, error) {
	if strings.ContainsAny(sealed, "\r\n") { // which the decoder would pass over
		return nil, ErrForeign
	}
	data, err := encoding().DecodeString(sealed)
	if err != nil {
		return nil, ErrForeign
	}
	message, err := s.aead.Open(nil, nil, data, nil)
	if err != nil {
		return nil, ErrForeign
	}
	return message, nil
}

func encoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }
