package access

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func newSealer(t *testing.T, secret byte, purpose string) *Sealer {
	t.Helper()
	s, err := NewSealer(bytes.Repeat([]byte{secret}, MinSecret), purpose)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealer_OpensSealedMessages(t *testing.T) {
	t.Parallel()
	s := newSealer(t, 1, "test")
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.SliceOf(rapid.Byte()).Draw(t, "message")
		other := rapid.SliceOf(rapid.Byte()).Draw(t, "other message")
		first := s.Seal(message)
		if equal := first == s.Seal(other); equal != bytes.Equal(message, other) || first != s.Seal(message) {
			t.Fatalf("texts of %x and %x are equal: %t, want that of the messages", message, other, equal)
		}
		if opened, err := s.Open(first); err != nil || !bytes.Equal(opened, message) {
			t.Fatalf("opened = %x, error = %v, want %x", opened, err, message)
		}
	})
}

func TestSealer_RefusesInvalidTexts(t *testing.T) {
	t.Parallel()
	s := newSealer(t, 1, "test")
	sealed := s.Seal([]byte("message"))
	for i := range sealed {
		changed := []byte(sealed)
		if changed[i]++; changed[i] == '{' {
			changed[i] = 'a'
		}
		if _, err := s.Open(string(changed)); !errors.Is(err, ErrNotSealed) {
			t.Fatalf("byte %d changed: error = %v, want ErrNotSealed", i, err)
		}
	}
	for _, text := range []string{"", "a", "====", sealed + "\n", "\n" + sealed, sealed + "=", sealed[:len(sealed)-1], sealed + sealed} {
		if _, err := s.Open(text); !errors.Is(err, ErrNotSealed) {
			t.Errorf("%q: error = %v, want ErrNotSealed", text, err)
		}
	}
	for name, other := range map[string]*Sealer{"secret": newSealer(t, 2, "test"), "purpose": newSealer(t, 1, "other")} {
		if _, err := other.Open(sealed); !errors.Is(err, ErrNotSealed) {
			t.Errorf("another %s: error = %v, want ErrNotSealed", name, err)
		}
	}
}

func TestNewSealer_RefusesAShortSecret(t *testing.T) {
	t.Parallel()
	if _, err := NewSealer(make([]byte, MinSecret-1), "test"); err == nil {
		t.Error("error = nil")
	}
}
