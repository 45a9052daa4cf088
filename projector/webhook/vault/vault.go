package vault

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"
)

// Setting is the environment variable that holds the keys. Errors name it.
const Setting = "CALLBOARD_WEBHOOK_KEY"

// Errors of [Vault.Open], to be compared with [errors.Is].
var (
	// ErrUnknownKey says that the secret was sealed with a key that the vault does not have.
	ErrUnknownKey = errors.New("unknown webhook key")

	// ErrInvalid says that the data was changed, or belongs to another secret or endpoint.
	ErrInvalid = errors.New("the sealed data was changed, or belongs to another row")
)

// Vault seals and opens the secrets of endpoints. It is safe for concurrent use, and prints without its keys.
type Vault struct {
	keys []Key
}

// Sealed is an encrypted secret as the database stores it.
type Sealed struct {
	KeyID string
	Data  []byte
}

// New returns a vault that seals with the first key and opens with any, so that keys can be replaced.
func New(keys ...Key) (*Vault, error) {
	if len(keys) == 0 || slices.Contains(keys, Key{}) {
		return nil, errors.New("webhook keys: at least one is needed: set " + Setting)
	}
	return &Vault{keys: slices.Clone(keys)}, nil
}

// KeyID returns the id of the key that seals. What another key sealed still opens, as long as the vault has that key.
func (v *Vault) KeyID() string { return v.keys[0].id }

// Format prints a label for every verb.
func (v *Vault) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "webhook vault") }

// MarshalText returns a label.
func (v *Vault) MarshalText() ([]byte, error) { return []byte("webhook vault"), nil }

// Seal encrypts a secret for its row: only with the same ids of endpoint and secret can it be opened. Sealing twice returns different data.
func (v *Vault) Seal(endpoint, secret uuid.UUID, plain []byte) Sealed {
	key := v.keys[0]
	return Sealed{KeyID: key.id, Data: (*key.aead).Seal(nil, nil, plain, row(endpoint, secret))}
}

// Open decrypts a secret. Its errors wrap [ErrUnknownKey] or [ErrInvalid], name the row, and contain neither keys nor secrets.
func (v *Vault) Open(endpoint, secret uuid.UUID, sealed Sealed) ([]byte, error) {
	i := slices.IndexFunc(v.keys, func(k Key) bool { return k.id == sealed.KeyID })
	if i < 0 {
		return nil, fmt.Errorf("open secret %s of endpoint %s: %w %q: add that key to %s", secret, endpoint, ErrUnknownKey, sealed.KeyID, Setting)
	}
	plain, err := (*v.keys[i].aead).Open(nil, nil, sealed.Data, row(endpoint, secret))
	if err != nil {
		return nil, fmt.Errorf("open secret %s of endpoint %s: %w", secret, endpoint, ErrInvalid)
	}
	return plain, nil
}

// row returns what identifies a secret's row, as additional data of the encryption.
func row(endpoint, secret uuid.UUID) []byte { return slices.Concat(endpoint[:], secret[:]) }
