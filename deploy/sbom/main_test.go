package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// The program that is described is this test.
func TestWrite(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := write(&first, program); err != nil {
		t.Fatal(err)
	}
	if err := write(&second, program); err != nil || first.String() != second.String() {
		t.Errorf("second output = %s, %v, want the first: %s", &second, err, &first)
	}
	var got bom
	if err := json.Unmarshal(first.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	release := strings.TrimPrefix(runtime.Version(), "go")
	for _, want := range []string{"pkg:golang/std@" + release, "pkg:golang/github.com/google/uuid@v"} {
		found := 0
		for _, c := range got.Components {
			if strings.HasPrefix(c.PURL, want) && c.Type == "library" {
				found++
			}
		}
		if found != 1 {
			t.Errorf("components with the package URL %s = %d, want 1 in %s", want, found, &first)
		}
	}
}

func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Path:      "callboard/cmd/readapi",
		Main:      debug.Module{Path: "callboard", Version: "v1.2.0"},
		Deps: []*debug.Module{
			{Path: "github.com/Some/Module", Version: "v2.0.0+incompatible"},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v1.1.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-11-01T10:00:00Z"}},
	}
	got := describe(info, sha256.Sum256(nil))
	program := component{
		Type: "application", Ref: "pkg:golang/callboard@v1.2.0#cmd/readapi", Name: "callboard/cmd/readapi", Version: "v1.2.0",
		PURL:   "pkg:golang/callboard@v1.2.0#cmd/readapi",
		Hashes: []hash{{"SHA-256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
	}
	if want := (metadata{"2026-11-01T10:00:00Z", program}); !reflect.DeepEqual(got.Metadata, want) {
		t.Errorf("metadata = %+v, want %+v", got.Metadata, want)
	}
	want := []string{
		"pkg:golang/std@1.26.8", "pkg:golang/github.com/some/module@v2.0.0%2Bincompatible", "pkg:golang/example.com/new@v1.1.0",
	}
	var purls []string
	for _, c := range got.Components {
		purls = append(purls, c.PURL)
	}
	if !reflect.DeepEqual(purls, want) {
		t.Errorf("package URLs = %q, want %q", purls, want)
	}
}

func TestWrite_NotAGoProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write(&out, file); err == nil || !strings.Contains(err.Error(), file) || out.Len() > 0 {
		t.Errorf("error = %v, output = %q, want an error that names the file, and no output", err, &out)
	}
}
