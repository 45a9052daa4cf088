package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"callboard/cmd/setting"
	"callboard/events"
)

// Ready is what the ready file says, once everything serves.
type Ready struct {
	BaseURL           string            `json:"baseUrl"`
	NATSURL           string            `json:"natsUrl"`
	PostgresURL       string            `json:"postgresUrl"`
	ReadAPIAdminURL   string            `json:"readapiAdminUrl"`
	ProjectorAdminURL string            `json:"projectorAdminUrl"`
	APIKey            *string           `json:"apiKey"`
	Env               setting.Variables `json:"env"` // under which other commands talk to this instance

	examples []string
}

func (i *instance) describe(ctx context.Context) (Ready, error) {
	r := Ready{
		BaseURL:           i.baseURL(),
		NATSURL:           i.broker.Reveal(),
		PostgresURL:       i.database.admin.Reveal(),
		ReadAPIAdminURL:   "http://" + i.admins.reader.Addr().String(),
		ProjectorAdminURL: "http://" + i.admins.projector.Addr().String(),
	}
	r.Env = setting.Variables{
		"CALLBOARD_NATS_URL":     r.NATSURL,
		"CALLBOARD_STREAM":       events.StreamName,
		"CALLBOARD_POSTGRES_URL": r.PostgresURL,
		"CALLBOARD_BASE_URL":     r.BaseURL,
		"CALLBOARD_KEY_PEPPER":   i.home.pepper,
		"CALLBOARD_CURSOR_KEY":   i.home.cursor,
		"CALLBOARD_AUDIO_URL":    i.home.audioURL(),
	}
	if i.company == nil {
		return r, nil
	}
	key, err := i.issueKey(ctx)
	if err != nil {
		return r, fmt.Errorf("key: %w", err)
	}
	r.APIKey = &key
	r.examples, err = i.examples(ctx, key)
	return r, err
}

// forgetReady removes the ready file of an earlier instance, so that nobody takes it for this one's.
func (i *instance) forgetReady() error {
	if i.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(i.ReadyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

// announce tells people and programs.
func (i *instance) announce(ready Ready) error {
	text, err := json.MarshalIndent(ready, "", "  ")
	if err != nil {
		return err
	}
	if err := i.home.writeEnv(ready.Env); err != nil {
		return fmt.Errorf("env: %w", err)
	}
	if i.ReadyFile != "" {
		if err := writeFile(i.ReadyFile, append(text, '\n')); err != nil {
			return fmt.Errorf("ready file: %w", err)
		}
	}
	i.display.Close()
	said := string(text)
	if !i.JSON {
		said = i.greeting(ready)
	}
	_, err = fmt.Fprintln(i.Out, said)
	return err
}

func (i *instance) greeting(ready Ready) string {
	var b strings.Builder
	say := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	say("\ncallboard serves.\n")
	say("  API        %s", ready.BaseURL)
	say("  docs       %s/docs", strings.TrimSuffix(ready.BaseURL, "/v1"))
	if ready.APIKey != nil {
		say("  key        %s   (all scopes on %s; this run's own)", *ready.APIKey, i.company.Organizations()[0].Name)
	}
	say("  data       %s   (its log is there too)", i.home.dir)
	say("  reader     %s/readyz, /metrics", ready.ReadAPIAdminURL)
	say("  projector  %s/readyz, /metrics\n", ready.ProjectorAdminURL)
	for _, example := range ready.examples {
		say("  curl -H 'X-API-Key: %s' '%s'", *ready.APIKey, example)
	}
	if len(ready.examples) > 0 {
		say("")
	}
	say("The other commands talk to this instance from a shell in which this was run:\n")
	say("  . '%s'\n", strings.ReplaceAll(i.home.path("env"), "'", `'\''`))
	if i.Sample == Live {
		say("Calls keep arriving.")
	}
	say("Ctrl-C stops everything.")
	return b.String()
}
