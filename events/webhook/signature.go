package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix = "whsec_"

	// newSecretBytes is the length of a new secret; the others limit those of other makers.
	newSecretBytes = 32
	minSecretBytes = 24
	maxSecretBytes = 64
)

// Secret is what requests to an endpoint are signed with: "whsec_" and 24 to 64 bytes in base64. It does not print. The
// bytes are behind a pointer, because fmt prints unexported fields without their methods.
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
		return Secret{}, fmt.Errorf("webhook secret: must be whsec_ and %d to %d bytes in base64", minSecretBytes,
			maxSecretBytes)
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

// The headers of a request (Standard Webhooks).
const (
	HeaderID        = "webhook-id"        // the event's id
	HeaderTimestamp = "webhook-timestamp" // of this attempt, in seconds since 1970
	HeaderSignature = "webhook-signature" // one for each secret, separated by spaces
)

const (
	// Tolerance is how far the time of an attempt may be from the receiver's. It bounds how long a recorded request can
	// be sent again.
	Tolerance = 5 * time.Minute

	signaturePrefix = "v1,"

	// maxSignatures bounds the work for one request.
	maxSignatures = 16
)

// The reasons for which [Verify] refuses a request.
var (
	ErrHeaders   = errors.New("webhook headers are missing or malformed")
	ErrTimestamp = errors.New("webhook timestamp is more than 5 minutes from now")
	ErrSignature = errors.New("no webhook signature matches")
	ErrSecret    = errors.New("a webhook secret is empty: everybody could sign with it")
)

// Sign returns the headers of an attempt at a time. The first secret is the newest.
func Sign(secrets []Secret, id string, at time.Time, body []byte) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signatures[i] = signaturePrefix + base64.StdEncoding.EncodeToString(secret.sign(id, timestamp, body))
	}
	header := make(http.Header)
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, strings.Join(signatures, " "))
	return header
}

// sign returns the HMAC-SHA-256 of "id.timestamp.body".
func (s Secret) sign(id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, s.bytes())
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// Verify returns the event of a request that was signed with one of the secrets, at most [Tolerance] from now. body is
// the body as received, before any decoding. The error wraps [ErrSecret], [ErrHeaders], [ErrTimestamp] or
// [ErrSignature], or says why a signed body is no event.
func Verify(secrets []Secret, header http.Header, body []byte, now time.Time) (Event, error) {
	if slices.Contains(secrets, Secret{}) {
		return Event{}, ErrSecret
	}

	id, timestamp := header.Get(HeaderID), header.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil {
		return Event{}, fmt.Errorf("%w: %s and %s are required", ErrHeaders, HeaderID, HeaderTimestamp)
	}

	// Compared as numbers: a difference of two times overflows far from now.
	if limit := int64(Tolerance / time.Second); seconds < now.Unix()-limit || seconds > now.Unix()+limit {
		return Event{}, ErrTimestamp
	}

	if !signed(secrets, header.Get(HeaderSignature), id, timestamp, body) {
		return Event{}, ErrSignature
	}

	event, err := parseBody(body)
	event.ID = id
	return event, err
}

// signed tells whether one of the signatures is of one of the secrets. It compares in constant time.
func signed(secrets []Secret, signatures, id, timestamp string, body []byte) bool {
	given := strings.Fields(signatures)
	given = given[:min(len(given), maxSignatures)]

	// The loop does not end at a match: its time must not tell which secret or signature matches.
	found := false
	for _, secret := range secrets {
		want := secret.sign(id, timestamp, body)
		for _, signature := range given {
			encoded, ok := strings.CutPrefix(signature, signaturePrefix)
			got, err := base64.StdEncoding.DecodeString(encoded)
			found = ok && err == nil && hmac.Equal(got, want) || found
		}
	}

	return found
}
