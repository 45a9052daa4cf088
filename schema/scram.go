package schema

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	scramSaltSize   = 16
	scramIterations = 4096 // PostgreSQL's own number
)

// scramVerifier returns what PostgreSQL stores of a password: SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server
// key> (RFC 5803).
func scramVerifier(password string) (string, error) {
	notPrintable := func(r rune) bool { return r < ' ' || r > '~' }
	if password == "" || strings.ContainsFunc(password, notPrintable) {
		// The normalization of other characters (SASLprep) differs between clients.
		return "", errors.New("must be of printable ASCII characters")
	}

	salt := make([]byte, scramSaltSize)
	_, _ = rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramIterations, sha256.Size)
	if err != nil {
		return "", err
	}

	// The server stores a hash of the client key, and no client can log in with the hash.
	storedKey := sha256.Sum256(keyedHash(salted, "Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s",
		scramIterations, encode(salt), encode(storedKey[:]), encode(keyedHash(salted, "Server Key"))), nil
}

func keyedHash(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
