package setting

import (
	"fmt"
	"io"
)

// Secret is text that does not print. It lies behind a pointer, so that not even a struct with a Secret in an unexported field,
// where fmt can't call its methods, shows more than an address.
type Secret struct{ text *string }

// NewSecret hides text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal is the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String says that there is a secret.
func (s Secret) String() string { return "[secret]" }

// Format prints String whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText writes String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
