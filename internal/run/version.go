package run

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// VersionCommand prints the build of its program.
type VersionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the build.
func (c *VersionCommand) Run(command *kong.Context, streams Streams) error {
	build := ReadBuild()
	if c.JSON {
		return json.NewEncoder(streams.Out).Encode(build)
	}
	_, err := fmt.Fprintln(streams.Out, command.Model.Name, build)
	return err
}

// Build is the build information that Go embeds.
type Build struct {
	Version  string `json:"version"`            // of the module
	Revision string `json:"revision,omitempty"` // of the source
	Time     string `json:"time,omitempty"`     // of the revision's commit
	Modified bool   `json:"modified"`           // the source differed from the revision
	Go       string `json:"go"`
}

// ReadBuild returns the build of this program.
func ReadBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: "unknown"}
	}
	build := Build{Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			build.Revision = s.Value
		case "vcs.time":
			build.Time = s.Value
		case "vcs.modified":
			build.Modified = s.Value == "true"
		}
	}
	return build
}

// String returns the build as one line.
func (b Build) String() string {
	text := b.Version
	if b.Revision != "" {
		text += " " + b.Revision + " of " + b.Time
	}
	if b.Modified {
		text += ", modified"
	}
	return text + ", " + b.Go
}
