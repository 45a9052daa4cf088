package main

import (
	"io"
	"runtime/debug"

	"callboard/cmd/process"
)

type versionCommand struct {
	output
}

// build is the build information that Go embeds.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision's commit
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
}

// Run prints the build.
func (c *versionCommand) Run(streams process.Streams) error {
	b := readBuild()
	return c.print(streams.Out, b, func(w io.Writer) error {
		text := "callboard " + b.Version
		if b.Revision != "" {
			text += " " + b.Revision + " of " + b.Time
		}
		if b.Modified {
			text += ", modified"
		}
		return writeLines(w, []string{text + ", " + b.Go})
	})
}

func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{Version: "unknown"}
	}
	b := build{Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
