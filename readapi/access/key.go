package access

import (
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"math/big"
	"strings"
)

// KeyPrefix is what every key begins with.
const KeyPrefix = "sk_phones_"

// A key's parts, in characters.
const (
	shortLength    = 12
	secretLength   = 43 // 62^43 is just above 2^256
	checksumLength = 6  // 62^6 holds a CRC-32
	keyLength      = len(KeyPrefix) + shortLength + 1 + secretLength + checksumLength
)

// Key is a secret API key. It prints as its public part; [Key.Reveal] is the one way to the whole. The zero Key is none.
type Key struct {
	short string
	text  *string // behind a pointer, which is all that shows of it in a printed struct that holds a Key
}

// NewKey makes a key from the system's randomness.
func NewKey() Key {
	text := KeyPrefix + randomDigits(shortLength) + "_" + randomDigits(secretLength)
	text += checksum(text)
	return keyOf(text)
}

// keyOf takes a well-formed key apart.
func keyOf(text string) Key {
	return Key{short: text[len(KeyPrefix) : len(KeyPrefix)+shortLength], text: &text}
}

// Short is the part that finds the key's row, and is no secret.
func (k Key) Short() string { return k.short }

// Reveal is the whole key, to be shown once to whom it is issued.
func (k Key) Reveal() string {
	if k.text == nil {
		return ""
	}
	return *k.text
}

// String is the key without its secret.
func (k Key) String() string { return KeyPrefix + k.short + "_..." }

// Format prints [Key.String] whatever the verb, so that no verb shows the secret.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText writes [Key.String].
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// wellFormed reports whether text has a key's shape and its checksum is right.
func wellFormed(text string) bool {
	if len(text) != keyLength || !strings.HasPrefix(text, KeyPrefix) {
		return false
	}
	short, secret := text[len(KeyPrefix):len(KeyPrefix)+shortLength], text[len(KeyPrefix)+shortLength+1:]
	if text[len(KeyPrefix)+shortLength] != '_' || !isBase62(short) || !isBase62(secret) {
		return false
	}
	body, sum := text[:keyLength-checksumLength], text[keyLength-checksumLength:]
	return checksum(body) == sum
}

func isBase62(s string) bool {
	for i := range len(s) {
		digit := '0' <= s[i] && s[i] <= '9'
		letter := 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		if !digit && !letter {
			return false
		}
	}
	return true
}

func checksum(body string) string {
	return digits(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), checksumLength)
}

// randomDigits are base62 digits, each text of that length as likely as any other.
func randomDigits(width int) string {
	limit := new(big.Int).Exp(big.NewInt(62), big.NewInt(int64(width)), nil)
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		panic(err) // crypto/rand ends the program before it returns an error
	}
	return digits(n, width)
}

func digits(n *big.Int, width int) string {
	text := n.Text(62)
	return strings.Repeat("0", width-len(text)) + text
}
