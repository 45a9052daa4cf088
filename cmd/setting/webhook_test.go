package setting_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"callboard/cmd/setting"
	"callboard/events/webhook"
)

// webhookSettings has all settings of webhooks.
type webhookSettings struct {
	Key      setting.WebhookKey     `embed:""`
	Targets  setting.WebhookTargets `embed:""`
	Retries  setting.Retries        `setting:"CALLBOARD_WEBHOOK_RETRIES" default:"5s,30s,2m,10m,30m,1h,2h,4h,8h,12h"`
	GiveUp   setting.GiveUp         `setting:"CALLBOARD_WEBHOOK_GIVE_UP" default:"72h"`
	Timeout  setting.Timeout        `setting:"CALLBOARD_WEBHOOK_TIMEOUT" default:"15s"`
	InFlight setting.InFlight       `setting:"CALLBOARD_WEBHOOK_IN_FLIGHT" default:"512"`
	Days     setting.Days           `setting:"CALLBOARD_WEBHOOK_DAYS" default:"30"`
	ReadURLs setting.PostgresURLs   `name:"read-urls" setting:"CALLBOARD_WEBHOOK_READ_URLS" secret:""`
}

// Run is required by kong.
func (*webhookSettings) Run() error { return nil }

func parseWebhook(env map[string]string) (*webhookSettings, error) {
	program := &webhookSettings{}
	_, err := setting.Parse(program, setting.Source{Getenv: func(name string) string { return env[name] }, Out: io.Discard})
	return program, err
}

// replicas are the URLs of two databases. The first has several hosts.
const replicas = "postgres://me:" + secret + "@a,b:5433/callboard\n\tpostgres://me:" + secret + "@c/callboard?sslpassword=" + secret + "\n"

func TestWebhook_Defaults(t *testing.T) {
	p, err := parseWebhook(map[string]string{"CALLBOARD_WEBHOOK_KEY": key(32)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, got, want any }{
		{"keys", len(p.Key.Keys.Get()), 1},
		{"networks", len(p.Targets.AllowNetworks.Get()), 0},
		{"ports", p.Targets.Ports.Get(), []uint16{443, 8443}},
		{"authorities", p.Targets.CA.IsSet(), false},
		{"retries", fmt.Sprint(p.Retries.Get()), "[5s 30s 2m0s 10m0s 30m0s 1h0m0s 2h0m0s 4h0m0s 8h0m0s 12h0m0s]"},
		{"give up", p.GiveUp.Get(), 72 * time.Hour},
		{"timeout", p.Timeout.Get(), 15 * time.Second},
		{"in flight", p.InFlight.Get(), 512},
		{"days", p.Days.Get(), 30},
		{"read URLs", p.ReadURLs.IsSet(), false},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestWebhook_Values(t *testing.T) {
	p, err := parseWebhook(map[string]string{
		"CALLBOARD_WEBHOOK_KEY":            key(32) + ", " + key(40),
		"CALLBOARD_WEBHOOK_ALLOW_NETWORKS": "10.0.0.0/8, 127.0.0.1",
		"CALLBOARD_WEBHOOK_PORTS":          "8443, 443,443,65535",
		"CALLBOARD_WEBHOOK_CA_FILE":        "/etc/hostname",
		"CALLBOARD_WEBHOOK_RETRIES":        "10ms, 1d12h",
		"CALLBOARD_WEBHOOK_GIVE_UP":        "3d",
		"CALLBOARD_WEBHOOK_TIMEOUT":        "250ms",
		"CALLBOARD_WEBHOOK_IN_FLIGHT":      "10000",
		"CALLBOARD_WEBHOOK_DAYS":           "7",
		"CALLBOARD_WEBHOOK_READ_URLS":      replicas,
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, urls := p.Key.Keys.Get(), p.ReadURLs.Get()
	if len(keys) != 2 || keys[0].ID() == keys[1].ID() {
		t.Errorf("keys = %v, want two", keys)
	}
	if len(urls) != 2 || fmt.Sprint(urls) != "[postgres://a,b:5433/callboard postgres://c/callboard]" ||
		urls[0].Reveal() != "postgres://me:"+secret+"@a,b:5433/callboard" || urls[0].FromFile() {
		t.Errorf("read URLs = %v, want two", urls)
	}
	for _, c := range []struct{ name, got, want any }{
		{"networks", fmt.Sprint(p.Targets.AllowNetworks.Get()), "[10.0.0.0/8 127.0.0.1/32]"},
		{"ports", p.Targets.Ports.Get(), []uint16{443, 8443, 65535}},
		{"authorities", p.Targets.CA.Get(), "/etc/hostname"},
		{"retries", p.Retries.Get(), []time.Duration{10 * time.Millisecond, 36 * time.Hour}},
		{"give up", p.GiveUp.Get(), 72 * time.Hour},
		{"timeout", p.Timeout.Get(), 250 * time.Millisecond},
		{"in flight", p.InFlight.Get(), 10_000},
		{"days", p.Days.Get(), 7},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestWebhook_InvalidValues(t *testing.T) {
	for _, c := range []struct{ name, variable, value, want string }{
		{"no key", "CALLBOARD_WEBHOOK_KEY", "", "is missing: set it to 32 random bytes"},
		{"a key that is too short", "CALLBOARD_WEBHOOK_KEY", key(31), "number 1 is not: generate one"},
		{"a second key that is no base64", "CALLBOARD_WEBHOOK_KEY", key(32) + "," + secret + "!", "number 2 is not"},
		{"a network that is none", "CALLBOARD_WEBHOOK_ALLOW_NETWORKS", "10.0.0.0/8,elsewhere", "invalid network"},
		{"port 0", "CALLBOARD_WEBHOOK_PORTS", "443,0", "write for example 443,8443"},
		{"a port that is too large", "CALLBOARD_WEBHOOK_PORTS", "65536", "write for example 443,8443"},
		{"a file that is not there", "CALLBOARD_WEBHOOK_CA_FILE", "/nowhere/at/all", "can't be read"},
		{"an interval of nothing", "CALLBOARD_WEBHOOK_RETRIES", "5s,0s", "write for example 5s,30s"},
		{"an interval without a unit", "CALLBOARD_WEBHOOK_RETRIES", "5", "write for example 5s,30s"},
		{"an interval that is too long", "CALLBOARD_WEBHOOK_RETRIES", "366d", "up to 365d"},
		{"a trailing comma", "CALLBOARD_WEBHOOK_RETRIES", "5s,", "write for example 5s,30s"},
		{"giving up at once", "CALLBOARD_WEBHOOK_GIVE_UP", "0s", "write for example 72h"},
		{"giving up too late", "CALLBOARD_WEBHOOK_GIVE_UP", "366d", "up to 365d"},
		{"no time for a request", "CALLBOARD_WEBHOOK_TIMEOUT", "0s", "write for example 15s"},
		{"too much time for a request", "CALLBOARD_WEBHOOK_TIMEOUT", "6m", "up to 5m"},
		{"no requests", "CALLBOARD_WEBHOOK_IN_FLIGHT", "0", "from 1 to 10000"},
		{"too many requests", "CALLBOARD_WEBHOOK_IN_FLIGHT", "10001", "from 1 to 10000"},
		{"no days", "CALLBOARD_WEBHOOK_DAYS", "0", "from 1 to 36500"},
		{"no URL", "CALLBOARD_WEBHOOK_READ_URLS", " \n", "contains no URL"},
		{"a URL of another kind", "CALLBOARD_WEBHOOK_READ_URLS", replicas + "mysql://me:" + secret + "@db/x", "number 3 is not the URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := map[string]string{"CALLBOARD_WEBHOOK_KEY": key(32)}
			env[c.variable] = c.value
			_, err := parseWebhook(env)
			if err == nil || !strings.Contains(err.Error(), c.variable) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error = %v, want it to contain %s and %q", err, c.variable, c.want)
			}
			requireNoSecret(t, "the message", err.Error())
		})
	}
}

// Each URL of a file can be read again. The errors do not contain the secret.
func TestPostgresURLs_Reload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "urls")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(replicas)
	p, err := parseWebhook(map[string]string{"CALLBOARD_WEBHOOK_KEY": key(32), "CALLBOARD_WEBHOOK_READ_URLS_FILE": file})
	if err != nil {
		t.Fatal(err)
	}
	urls := p.ReadURLs.Get()
	for _, password := range []string{"second", "third"} {
		write(strings.ReplaceAll(replicas, secret, password))
		for i := range urls {
			// Reload can be repeated on what it returns.
			again, err := urls[i].Reload()
			if err != nil || again.String() != urls[i].String() || !strings.Contains(again.Reveal(), password) || !again.FromFile() {
				t.Fatalf("URL %d = %v, error = %v, want %v with the password of the file", i, again, err, urls[i])
			}
			urls[i] = again
		}
	}
	for _, text := range []string{"", secret, strings.Fields(replicas)[0]} {
		write(text)
		if _, err := urls[1].Reload(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("the file has %d bytes: error = %v, want one without the secret", len(text), err)
		}
	}
}

func TestWebhook_SecretsDoNotPrint(t *testing.T) {
	p, err := parseWebhook(map[string]string{"CALLBOARD_WEBHOOK_KEY": key(32), "CALLBOARD_WEBHOOK_READ_URLS": replicas})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{
		p, *p, p.Key, p.Key.Keys, p.Key.Keys.Get(), p.Key.Keys.Get()[0], p.ReadURLs, p.ReadURLs.Get(),
		struct{ hidden setting.URLs }{p.ReadURLs.Get()}, struct{ hidden setting.WebhookKey }{p.Key},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			requireNoSecret(t, fmt.Sprintf("%s of %T", verb, v), fmt.Sprintf(verb, v))
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Errorf("JSON of %T: %v", v, err)
		}
		requireNoSecret(t, fmt.Sprintf("JSON of %T", v), string(text))
	}
}

func TestWebhookSecrets(t *testing.T) {
	parse := func(value string) (secrets setting.WebhookSecrets, err error) {
		program := &struct {
			Secrets setting.WebhookSecrets `name:"secret" setting:"CALLBOARD_WEBHOOK_SECRET" secret:""`
		}{}
		env := map[string]string{"CALLBOARD_WEBHOOK_SECRET": value}
		_, err = setting.Parse(program, setting.Source{Getenv: func(name string) string { return env[name] }, Out: io.Discard})
		return program.Secrets, err
	}
	first, second := webhook.NewSecret(), webhook.NewSecret()
	secrets, err := parse(first.Reveal() + ", " + second.Reveal())
	if got := secrets.Get(); err != nil || len(got) != 2 || got[0].Reveal() != first.Reveal() || got[1].Reveal() != second.Reveal() {
		t.Errorf("%d secrets, error = %v, want two", len(got), err)
	}
	if text := fmt.Sprintf("%v %+v %#v", secrets, secrets, secrets); strings.Contains(text, first.Reveal()[6:20]) {
		t.Error("the setting prints a secret")
	}
	if _, err := parse(first.Reveal() + "," + secret); err == nil || !strings.Contains(err.Error(), "number 2") {
		t.Errorf("error = %v, want the number of the invalid secret", err)
	} else {
		requireNoSecret(t, "the message", err.Error())
	}
}
