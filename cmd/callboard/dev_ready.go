//go:build !operator

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// devReady is the content of the ready file.
type devReady struct {
	BaseURL           string            `json:"baseUrl"`
	NATSURL           string            `json:"natsUrl"`
	PostgresURL       string            `json:"postgresUrl"`
	ReadAPIAdminURL   string            `json:"readapiAdminUrl"`
	ProjectorAdminURL string            `json:"projectorAdminUrl"`
	WebhooksAdminURL  string            `json:"webhooksAdminUrl"`
	APIKey            *string           `json:"apiKey"`
	Env               map[string]string `json:"env"` // with which other commands use this instance

	examples []string
}

func (i *devInstance) newReady(ctx context.Context) (devReady, error) {
	r := devReady{
		BaseURL:           i.baseURL(),
		NATSURL:           i.natsURL.Reveal(),
		PostgresURL:       i.database.ownerURL.Reveal(),
		ReadAPIAdminURL:   i.adminURLs["reader"],
		ProjectorAdminURL: i.adminURLs["projector"],
		WebhooksAdminURL:  i.adminURLs["webhooks"],
		Env:               i.env(),
	}

	// Without a sample there is no organization whose calls a key could read.
	if i.company == nil {
		return r, nil
	}

	pool, err := i.newOperatorPool(ctx)
	if err != nil {
		return r, err
	}
	defer pool.Close()

	key, err := i.issueKey(ctx, pool)
	if err != nil {
		return r, fmt.Errorf("key: %w", err)
	}

	r.APIKey = &key
	r.examples, err = i.findExamples(ctx, pool)
	return r, err
}

// removeReadyFile removes the ready file of an earlier instance, which must not be mistaken for this one's.
func (i *devInstance) removeReadyFile() error {
	if i.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(i.ReadyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

// publishReady writes the ready file and the env file, and prints how to use the instance.
func (i *devInstance) publishReady(ready devReady) error {
	text, err := json.MarshalIndent(ready, "", "  ")
	if err != nil {
		return err
	}
	if err := i.dir.writeEnv(ready.Env); err != nil {
		return fmt.Errorf("env: %w", err)
	}

	if i.ReadyFile != "" {
		if err := replaceFile(i.ReadyFile, append(text, '\n')); err != nil {
			return fmt.Errorf("ready file: %w", err)
		}
	}

	// The progress ends before what people read.
	i.display.Close()
	output := string(text)
	if !i.JSON {
		output = i.instructions(ready)
	}
	_, err = fmt.Fprintln(i.Out, output)
	return err
}

func (i *devInstance) instructions(ready devReady) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }

	line("\ncallboard is ready.\n")
	line("  API        %s", ready.BaseURL)
	line("  docs       %s/docs", strings.TrimSuffix(ready.BaseURL, "/v1"))
	if ready.APIKey != nil {
		line("  key        %s   (all scopes on %s; valid until the next start)",
			*ready.APIKey, i.company.Organizations()[0].Name)
	}

	line("  data       %s   (with the log)", i.dir.root)
	line("  reader     %s/readyz, /metrics", ready.ReadAPIAdminURL)
	line("  projector  %s/readyz, /metrics", ready.ProjectorAdminURL)
	line("  webhooks   %s/readyz, /metrics", ready.WebhooksAdminURL)
	line("  console    %s/\n", ready.ProjectorAdminURL)

	// The examples carry the key, so a person can paste them.
	for _, example := range ready.examples {
		line("  curl -H 'X-API-Key: %s' '%s'", *ready.APIKey, example)
	}
	if len(ready.examples) > 0 {
		line("")
	}

	line("To use other commands with this instance, run this in their shell:\n")
	line("  . '%s'\n", quoted(i.dir.path("env")))

	if i.company != nil {
		line("To see webhooks, run these in two such shells:\n")
		line("  %s webhooks listen --listen %s --certificate '%s'",
			commandName(), listenAddress, quoted(i.dir.path(listenCertificate)))
		line("  %s webhooks add https://%s/ --name first --kinds all --organization %s\n",
			commandName(), listenAddress, i.company.Organizations()[0].ID)
	}

	if i.Sample == liveSample {
		line("New calls arrive while it runs.")
	}

	line("Ctrl-C stops everything.")
	return b.String()
}

// quoted returns a text as a part of a shell's word within single quotes.
func quoted(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// commandName returns how a shell runs the program callboard.
func commandName() string {
	if _, err := exec.LookPath("callboard"); err != nil {
		return "go run ./cmd/callboard"
	}
	return "callboard"
}

// listenAddress is where the example listens for webhooks.
const listenAddress = "127.0.0.1:8443"

// issueKey issues a key for the sample's first organization and revokes the key of the last start, which can't be shown
// again.
func (i *devInstance) issueKey(ctx context.Context, pool *pgxpool.Pool) (key string, err error) {
	pepper, err := access.ParsePepper(i.dir.secrets["key-pepper"])
	if err != nil {
		return "", err
	}

	registry := access.NewRegistry(pool, pepper)
	if err := i.revokeLastKey(ctx, registry); err != nil {
		return "", err
	}

	// The new key reads everything of the first organization.
	issued, err := registry.Issue(ctx, access.KeySpec{
		Name:   "dev",
		Grant:  access.Grant{Kind: access.GrantOrganization, ID: i.company.Organizations()[0].ID},
		Scopes: access.Scopes(),
	})
	if err != nil {
		return "", err
	}
	return issued.Key.Reveal(), replaceFile(i.dir.path(keyFile), []byte(issued.ID.String()))
}

// keyFile is the name of the file with the id of the instance's key.
const keyFile = "key-id"

func (i *devInstance) revokeLastKey(ctx context.Context, registry *access.Registry) error {
	text, err := os.ReadFile(i.dir.path(keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	id, err := uuid.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("%s in the data directory: %w\nStart with --fresh", keyFile, err)
	}

	if _, err := registry.Revoke(ctx, id); !errors.Is(err, access.ErrUnknownKey) { // the database can be another one
		return err
	}
	return nil
}

// findExamples returns URLs to which the key has access: the list of phone systems, the calls of the sample's first
// one, and a link to its newest recording.
func (i *devInstance) findExamples(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	system := i.company.Systems()[0].ID
	discovery := i.baseURL() + "/customer/phone-systems"
	examples := []string{discovery, discovery + "/" + system.String() + "/call-logs?pageSize=5"}

	sid, err := query.NewestRecording(ctx, pool, system)
	if errors.Is(err, pgx.ErrNoRows) {
		return examples, nil
	}

	return append(examples, discovery+"/"+system.String()+"/recordings/"+sid+"/url"), err
}
