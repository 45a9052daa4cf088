// Command callboard is the tool of those who run callboard, and of platform teams that publish to it.
package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"callboard/cmd/process"
	"callboard/readapi/access"
)

func main() {
	process.Main("callboard", "Runs, fills and looks after callboard. Settings come from the environment; flags override them.",
		&commands{}, kong.Vars{"scopes": scopeNames(access.Scopes(), ", ")})
}

func scopeNames(scopes []access.Scope, separator string) string {
	names := make([]string, 0, len(scopes))
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, separator)
}

// commands are what there is.
type commands struct {
	Dev         devCommand         `cmd:"" help:"Run everything in this process, with sample calls."`
	Keys        keysCommand        `cmd:"" help:"Issue, roll, revoke, list, show and audit API keys."`
	Publish     publishCommand     `cmd:"" help:"Publish events from lines of JSON."`
	Simulate    simulateCommand    `cmd:"" help:"Publish a simulated phone company."`
	Stream      streamCommand      `cmd:"" help:"Make the stream of events, or check its settings."`
	Migrate     migrateCommand     `cmd:"" help:"Bring the database to this release's schema and roles."`
	Status      statusCommand      `cmd:"" help:"Show where the projection stands against the stream."`
	Version     versionCommand     `cmd:"" help:"Show which build this is."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a URL whether it is well; for containers without a shell."`
}
