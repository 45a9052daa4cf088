package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// MinSecret is the smallest length of a secret in bytes, under which messages are sealed or keys are hashed.
const MinSecret = 32

// Sealer encrypts and authenticates short messages that clients carry, such as cursors and links, with AES-256-GCM. A
// message that is sealed for one purpose cannot be opened for another. It is safe for concurrent use.
type Sealer struct {
	aead     cipher.AEAD
	nonceKey []byte
}

// NewSealer returns the Sealer of a purpose. Its keys are derived from the secret (HKDF, RFC 5869). It returns an error
// if the secret is too short.
func NewSealer(secret []byte, purpose string) (*Sealer, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret has %d bytes: use at least %d", len(secret), MinSecret)
	}

	// The first half is the key of the cipher, the second half the key of the nonces.
	keys, err := hkdf.Key(sha256.New, secret, nil, "callboard "+purpose, 64)
	if err != nil {
		return nil, err
	}

	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead, nonceKey: keys[32:]}, nil
}

// Seal returns the sealed message as a text that is safe in URLs. Equal messages have equal texts. The nonce is a keyed
// digest of the message, so two messages have the same nonce as rarely as with random nonces.
func (s *Sealer) Seal(message []byte) string {
	digest := hmac.New(sha256.New, s.nonceKey)
	digest.Write(message)
	nonce := digest.Sum(nil)[:s.aead.NonceSize()]

	return encoding().EncodeToString(s.aead.Seal(nonce, nonce, message, nil))
}

// ErrNotSealed is returned for a text that was changed, or was not sealed with the same secret for the same purpose.
var ErrNotSealed = errors.New("the text was changed or not sealed with this secret")

// Open returns the message of a sealed text. The only error is [ErrNotSealed].
func (s *Sealer) Open(sealed string) ([]byte, error) {
	data, err := encoding().DecodeString(sealed)
	lineBreak := strings.ContainsAny(sealed, "\r\n") // which the decoder ignores
	if err != nil || lineBreak || len(data) < s.aead.NonceSize() {
		return nil, ErrNotSealed
	}

	nonce, sealedMessage := data[:s.aead.NonceSize()], data[s.aead.NonceSize():]
	message, err := s.aead.Open(nil, nonce, sealedMessage, nil)
	if err != nil {
		return nil, ErrNotSealed
	}
	return message, nil
}

func encoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }
