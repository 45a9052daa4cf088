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
	Rebuild     rebuildCommand     `cmd:"" help:"Build the projection anew beside the live one, check it, and switch to it."`
	Rollback    rollbackCommand    `cmd:"" help:"Switch back to the generation that was kept."`
	Verify      verifyCommand      `cmd:"" help:"Hold what is served against the stream, row by row. Exit 1 where anything differs."`
	Repair      repairCommand      `cmd:"" help:"Make the rows of one phone system anew from the stream."`
	DeadLetters deadLettersCommand `cmd:"" help:"List, show, retry and drop the messages that couldn't be applied."`
	Version     versionCommand     `cmd:"" help:"Show which build this is."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a URL whether it is well; for containers without a shell."`
}
