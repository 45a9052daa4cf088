package setting

import (
	"errors"
	"fmt"
	"strings"

	"callboard/readapi/access"
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

// CursorKey is the secret that seals cursors.
type CursorKey = Value[Secret, cursorKey]

type cursorKey struct{}

// Parse implements [Kind]. A cursor key has a pepper's form.
func (cursorKey) Parse(text string) (Secret, error) {
	if _, err := access.ParsePepper(strings.TrimSpace(text)); err != nil {
		return Secret{}, errors.New("must be base64 of 32 bytes or more: " + makeOne)
	}
	return NewSecret(strings.TrimSpace(text)), nil
}
