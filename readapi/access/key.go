package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"strings"
)

// KeyPrefix is the prefix of every key.
const KeyPrefix = "sk_phones_"

// The lengths of a key's parts in characters.
const (
	shortLength    = 12
	secretLength   = 43 // 62^43 is just above 2^256
	checksumLength = 6  // 62^6 holds a CRC-32
	keyLength      = len(KeyPrefix) + shortLength + 1 + secretLength + checksumLength
)

// Key is a secret API key. It prints only its public part; [Key.Reveal] returns the whole key. The zero Key is not a
// key.
type Key struct {
	short string
	text  *string // a pointer, so that printing a struct that contains a Key shows only an address
}

// NewKey returns a new random key.
func NewKey() Key {
	text := KeyPrefix + randomDigits(shortLength) + "_" + randomDigits(secretLength)
	text += checksum(text)
	return keyOf(text)
}

// keyOf returns the key of a well-formed text.
func keyOf(text string) Key {
	return Key{short: text[len(KeyPrefix) : len(KeyPrefix)+shortLength], text: &text}
}

// Short returns the public part, which identifies the key's row.
func (k Key) Short() string { return k.short }

// Reveal returns the whole key. It is shown once, to the person it is issued to.
func (k Key) Reveal() string {
	if k.text == nil {
		return ""
	}
	return *k.text
}

// String returns the key without its secret.
func (k Key) String() string { return KeyPrefix + k.short + "_..." }

// Format prints [Key.String] for every verb, so that no verb shows the secret.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText returns [Key.String].
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// wellFormed reports whether text has the form of a key and the right checksum.
func wellFormed(text string) bool {
	if len(text) != keyLength || !strings.HasPrefix(text, KeyPrefix) {
		return false
	}

	short, secret := text[len(KeyPrefix):len(KeyPrefix)+shortLength], text[len(KeyPrefix)+shortLength+1:]
	if text[len(KeyPrefix)+shortLength] != '_' || !isBase62(short) || !isBase62(secret) {
		return false
	}

	// A wrong checksum tells a mistyped key without a statement.
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

// randomDigits returns base62 digits, uniformly distributed over all texts of that length.
func randomDigits(width int) string {
	limit := new(big.Int).Exp(big.NewInt(62), big.NewInt(int64(width)), nil)
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		panic(err) // never happens: crypto/rand terminates the program instead
	}
	return digits(n, width)
}

func digits(n *big.Int, width int) string {
	text := n.Text(62)
	return strings.Repeat("0", width-len(text)) + text
}

// Pepper is the secret under which keys are hashed. It is a setting of the programs and never in the database, so a
// copy of the table alone verifies no key. Each hash is stored with its pepper's id, so that peppers can be rotated. A
// Pepper prints as its id. The zero Pepper is not a pepper.
type Pepper struct {
	id     string
	secret *string // a pointer, so that printing a struct that contains a Pepper shows only an address
}

var errPepper = errors.New("key pepper invalid or missing: set at least 32 bytes in base64")

// NewPepper returns a pepper of 32 bytes or more.
func NewPepper(secret []byte) (Pepper, error) {
	if len(secret) < MinSecret {
		return Pepper{}, errPepper
	}
	text := string(secret)
	digest := sha256.Sum256(secret)
	return Pepper{id: hex.EncodeToString(digest[:4]), secret: &text}, nil
}

// ParsePepper parses a pepper in the encodings of [DecodeSecret]. The error never contains any of the text.
func ParsePepper(text string) (Pepper, error) {
	secret, err := DecodeSecret(text)
	if err != nil {
		return Pepper{}, errPepper
	}
	return NewPepper(secret)
}

// DecodeSecret decodes base64 in the standard or the URL alphabet, with or without padding.
func DecodeSecret(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(text), "="))
	return base64.RawStdEncoding.DecodeString(text)
}

// ID returns the first 8 hexadecimal digits of the pepper's SHA-256.
func (p Pepper) ID() string { return p.id }

// String returns the pepper's id with a label.
func (p Pepper) String() string { return "pepper " + p.id }

// Format prints [Pepper.String] for every verb, so that no verb shows the secret.
func (p Pepper) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// MarshalText returns [Pepper.String].
func (p Pepper) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// hash returns the hash that is stored of a key.
func (p Pepper) hash(k Key) []byte {
	mac := hmac.New(sha256.New, []byte(*p.secret))
	mac.Write([]byte(k.Reveal()))
	return mac.Sum(nil)
}
