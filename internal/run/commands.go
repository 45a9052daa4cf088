package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/alecthomas/kong"

	"callboard/internal/run/setting"
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

// HealthcheckCommand asks the program that runs with the same settings whether it can serve. Images have no shell and
// no curl. The kong variable admin_listen is the default of its address.
type HealthcheckCommand struct {
	Admin setting.Admin `embed:""`
}

// Run requests /readyz and fails unless the status is 2xx.
func (c *HealthcheckCommand) Run(ctx context.Context, streams Streams) error {
	// An empty or unspecified host, such as in :9090, is this machine when it is dialed, too.
	response, err := CheckHealth(ctx, "http://"+c.Admin.Listen+"/readyz")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(streams.Out, response.Status)
	return err
}

// Health is the answer of a healthy program.
type Health struct {
	Code   int
	Status string // such as "200 OK"
}

// healthTimeout is below the timeout of container engines.
const healthTimeout = 5 * time.Second

// CheckHealth requests a URL. It returns an error with the beginning of the answer unless the status is 2xx.
func CheckHealth(ctx context.Context, url string) (Health, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return Health{}, fmt.Errorf("healthcheck: %w", err)
	}

	// A proxy that the environment names would be asked for its own health.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return Health{}, fmt.Errorf("healthcheck: %w", err)
	}

	// An answer that is not 2xx says why in its body.
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	_ = response.Body.Close()
	if err != nil {
		return Health{}, fmt.Errorf("healthcheck: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return Health{}, fmt.Errorf("healthcheck: %s: %s", response.Status, body)
	}
	return Health{response.StatusCode, response.Status}, nil
}
