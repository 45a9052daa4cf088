package setting

import (
	"fmt"
	"io"
	"regexp"
)

// Secret is text that does not print. The text is behind a pointer: for a Secret in an unexported field fmt can't call the methods
// and prints the address.
type Secret struct{ text *string }

// NewSecret returns a secret that holds the text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns a placeholder.
func (s Secret) String() string { return "[secret]" }

// Format prints the placeholder for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText writes the placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Redact removes user and password from the URLs in a text. A complaint about a command line can quote an argument that is a URL. A password
// that is not encoded can contain "@".
func Redact(text string) string {
	return regexp.MustCompile(`://\S*@`).ReplaceAllString(text, "://")
}
