package run

import (
	"bytes"
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A stored certificate stays the same until it expires.
func TestLoadCertificate(t *testing.T) {
	file, now := filepath.Join(t.TempDir(), "listen.pem"), time.Now()
	load := func(at time.Time) tls.Certificate {
		t.Helper()
		certificate, err := LoadCertificate(file, "hooks.test", at)
		if err != nil {
			t.Fatal(err)
		}
		return certificate
	}
	first, second := load(now), load(now)
	if !bytes.Equal(first.Certificate[0], second.Certificate[0]) {
		t.Error("the second load returned another certificate, want the same")
	}
	if err := second.Leaf.VerifyHostname("hooks.test"); err != nil {
		t.Error(err)
	}
	if third := load(now.AddDate(0, 0, 31)); bytes.Equal(first.Certificate[0], third.Certificate[0]) {
		t.Error("an expired certificate was returned, want another")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, error = %v, want 0600", info.Mode(), err)
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCertificate(file, "", now); err == nil {
		t.Error("a damaged file: error = nil, want one")
	}
}
