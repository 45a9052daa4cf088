package setting

import (
	"errors"
	"fmt"
	"strings"

	"callboard/readapi/access"
	"callboard/readapi/seal"
)

// Peppers are the secrets under which API keys are hashed, the current one first.
type Peppers = Value[[]access.Pepper, peppers]

type peppers struct{}

const makeOne = "make one with 'openssl rand -base64 32'"

// Parse implements [Kind].
func (peppers) Parse(text string) ([]access.Pepper, error) {
	var list []access.Pepper
	for part := range strings.SplitSeq(text, ",") {
		pepper, err := access.ParsePepper(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("must be base64 of 32 bytes or more, several with commas between, and number %d is not: %s",
				len(list)+1, makeOne)
		}
		list = append(list, pepper)
	}
	return list, nil
}

// CursorKey is the secret that seals cursors and links to audio. Its value is the bytes that the setting has in base64.
type CursorKey = Value[Secret, cursorKey]

type cursorKey struct{}

// NewCursorKey reads base64 of 32 bytes or more.
func NewCursorKey(text string) (Secret, error) { return cursorKey{}.Parse(text) }

// Parse implements [Kind].
func (cursorKey) Parse(text string) (Secret, error) {
	secret, err := access.DecodeSecret(text)
	if err != nil || len(secret) < seal.MinSecret {
		return Secret{}, errors.New("must be base64 of 32 bytes or more: " + makeOne)
	}
	return NewSecret(string(secret)), nil
}
