package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is no list of keys is refused: it must not count as no list.
func TestRestore_ReadKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	for text, valid := range map[string]bool{"[]": true, "null": false, "{}": false, "": false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if keys, err := (&restoreCommand{Keys: file}).readKeys(); (err == nil) != valid || (keys != nil) != valid {
			t.Errorf("%q: keys = %v, %v, want a list: %v", text, keys, err, valid)
		}
	}
}
