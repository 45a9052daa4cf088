package seal

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func newSealer(t *testing.T, secret byte, purpose string) *Sealer {
	t.Helper()
	s, err := New(bytes.Repeat([]byte{secret}, MinSecret), purpose)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealer_OpensWhatItSealed(t *testing.T) {
	s := newSealer(t, 1, "test")
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.SliceOf(rapid.Byte()).Draw(t, "message")
		first, second := s.Seal(message), s.Seal(message)
		if first == second {
			t.Fatal("sealed twice alike")
		}
		if opened, err := s.Open(first); err != nil || !bytes.Equal(opened, message) {
			t.Fatalf("%x opened as %x, %v", message, opened, err)
		}
	})
}

func TestSealer_RefusesWhatItDidNotSeal(t *testing.T) {
	s := newSealer(t, 1, "test")
	sealed := s.Seal([]byte("message"))
	for i := range sealed {
		altered := []byte(sealed)
		if altered[i]++; altered[i] == '{' {
			altered[i] = 'a'
		}
		if _, err := s.Open(string(altered)); !errors.Is(err, ErrForeign) {
			t.Fatalf("byte %d altered: %v", i, err)
		}
	}
	for _, text := range []string{"", "a", "====", sealed + "\n", "\n" + sealed, sealed + "=", sealed[:len(sealed)-1], sealed + sealed} {
		if _, err := s.Open(text); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for name, other := range map[string]*Sealer{"secret": newSealer(t, 2, "test"), "purpose": newSealer(t, 1, "other")} {
		if _, err := other.Open(sealed); !errors.Is(err, ErrForeign) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

func TestNew_RefusesAShortSecret(t *testing.T) {
	if _, err := New(make([]byte, MinSecret-1), "test"); err == nil {
		t.Error("taken")
	}
}
