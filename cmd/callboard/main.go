// Command callboard is the tool of operators, and of platform teams that publish events.
package main

import (
	"context"
	"net/url"
	"strings"
	_ "time/tzdata" // an image has no files but the program

	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/events/webhook"
	"callboard/internal/run"
	"callboard/readapi/access"
)

func main() { run.Main("callboard", description, &commands{}, commandVars()) }

const description = "Operates callboard. Settings come from the environment; flags override them."

// commandVars are the variables in the commands' help texts.
func commandVars() kong.Vars {
	return kong.Vars{"scopes": joinNames(access.Scopes(), ", "), "kinds": joinNames(webhook.Kinds(), ",")}
}

// joinNames joins the names of scopes or of kinds of events.
func joinNames[T ~string](list []T, separator string) string {
	texts := make([]string, len(list))
	for i, name := range list {
		texts[i] = string(name)
	}
	return strings.Join(texts, separator)
}

// operatorCommands are the commands of every build.
type operatorCommands struct {
	Keys        keysCommand        `cmd:"" help:"Issue, roll, revoke, list, show and audit API keys."`
	Publish     publishCommand     `cmd:"" help:"Publish events from lines of JSON."`
	Simulate    simulateCommand    `cmd:"" help:"Publish the events of a simulated phone company."`
	Stream      streamCommand      `cmd:"" help:"Create and check the streams."`
	Secrets     secretsCommand     `cmd:"" help:"Create the secrets of an installation."`
	Migrate     migrateCommand     `cmd:"" help:"Migrate the database to this release's schema and roles."`
	Status      statusCommand      `cmd:"" help:"Show the position and lag of every partition, the message accounting, and problems."`
	Rebuild     rebuildCommand     `cmd:"" help:"Build a new generation of the projection, compare it with the live one, and switch to it."`
	Rollback    rollbackCommand    `cmd:"" help:"Switch back to the previous generation."`
	Verify      verifyCommand      `cmd:"" help:"Compare the live projection with the stream, row by row. Exit 1 if anything differs."`
	Repair      repairCommand      `cmd:"" help:"Rebuild the rows of one phone system from the stream."`
	Backup      backupCommand      `cmd:"" help:"Write a backup of what no rebuild can make again: keys, audit, decisions, and the streams."`
	Restore     restoreCommand     `cmd:"" help:"Restore a backup into an empty, migrated database and missing streams."`
	DeadLetters deadLettersCommand `cmd:"" help:"List, show, retry and drop messages that could not be applied."`
	Webhooks    webhooksCommand    `cmd:"" help:"Register endpoints of webhooks, and list, show, test, pause and repeat what is sent to them."`
	Version     run.VersionCommand `cmd:"" help:"Show the version of this build."`
	Healthcheck healthcheckCommand `cmd:"" help:"Request a URL and exit 1 unless it answers 2xx; for containers without a shell."`
}

type healthcheckCommand struct {
	output
	URL *url.URL `arg:"" help:"The URL, such as http://127.0.0.1:9090/readyz."`
}

// Run requests the URL and fails unless the status is 2xx.
func (c *healthcheckCommand) Run(ctx context.Context, streams run.Streams) error {
	response, err := run.CheckHealth(ctx, c.URL.String())
	if err != nil {
		return err
	}
	return c.print(streams.Out, map[string]int{"status": response.Code}, response.Status)
}
