// Command sbom prints what a program consists of, as CycloneDX 1.6: the Go release and the modules that the linker has recorded in
// it. Equal programs have equal output.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// bom is a bill of materials. Its members are CycloneDX's.
type bom struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Serial      string      `json:"serialNumber"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// write writes the bill of materials of a program.
func write(w io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the build information of %s: %w", program, err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(describe(info, sha256.Sum256(content)))
}

func describe(info *debug.BuildInfo, digest [sha256.Size]byte) bom {
	program := library(info.Main.Path, info.Main.Version)
	program.Type, program.Name = "application", info.Path
	program.PURL += "#" + strings.TrimPrefix(info.Path, info.Main.Path+"/")
	program.Ref = program.PURL
	program.Hashes = []hash{{"SHA-256", hex.EncodeToString(digest[:])}}

	components := []component{library("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, library(module.Path, module.Version))
	}
	return bom{
		Format:      "CycloneDX",
		SpecVersion: "1.6",
		Serial:      uuid.NewSHA1(uuid.NameSpaceOID, digest[:]).URN(),
		Version:     1,
		Metadata:    metadata{Timestamp: commitTime(info), Component: program},
		Components:  components,
	}
}

// library describes a Go module. Package URLs of Go modules are in lower case.
func library(path, version string) component {
	purl := "pkg:golang/" + strings.ToLower(path) + "@" + url.QueryEscape(version)
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}

// commitTime stands for the time of the bill of materials, which would differ between equal programs.
func commitTime(info *debug.BuildInfo) string {
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			return setting.Value
		}
	}
	return ""
}
