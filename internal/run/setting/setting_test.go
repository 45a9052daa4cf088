package setting_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"callboard/events/webhook"
	"callboard/internal/run/setting"
	"callboard/readapi/audio"
)

// allSettings has a setting of every kind.
type allSettings struct {
	NATS      setting.NATS           `embed:""`
	Stream    setting.Stream         `embed:""`
	Postgres  setting.Postgres       `embed:""`
	Replica   setting.URL            `type:"postgres-url" name:"postgres-read-url" setting:"" secret:""`
	Pepper    setting.Pepper         `embed:""`
	Webhook   setting.WebhookKey     `embed:""`
	Targets   setting.WebhookTargets `embed:""`
	Admin     setting.Admin          `embed:""`
	Log       setting.Log            `embed:""`
	AudioURL  audio.Location         `type:"audio-url" setting:""`
	CursorKey setting.Secret         `type:"cursor-key" setting:"" secret:""`
	BaseURL   string                 `type:"base-url" name:"base-url" setting:""`
	Time      time.Time              `type:"text" setting:""`
	Count     int                    `type:"count" setting:"" min:"1" max:"1000" default:"16"`
	Memory    int64                  `type:"memory" setting:"" min:"14MiB" default:"64MiB"`
	Clock     time.Duration          `setting:"" min:"250ms" max:"60s" default:"1s"`
	Age       time.Duration          `setting:"" min:"0s" default:"1h"`
	Retries   []time.Duration        `type:"durations" setting:"" min:"1ms" max:"365d" default:"5s,12h"`
	ReadURLs  []setting.URL          `type:"postgres-urls" name:"read-urls" setting:"" secret:""`
	Secrets   []webhook.Secret       `type:"webhook-secrets" setting:"webhook-secret" secret:""`
	Since     *time.Duration         `placeholder:"30d"`
	Instant   time.Time              `type:"instant"`
	Networks  []netip.Prefix         `type:"networks"`
	Kinds     []webhook.Kind         `type:"webhook-kinds"`
}

// Run is required by kong.
func (*allSettings) Run() error { return nil }

// secret is part of every secret of these tests, and must not be in any output.
const secret = "hunter2"

func key(n int) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(secret, n/len(secret)+1))[:n])
}

// validEnv returns an environment with valid settings.
func validEnv() map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL":     "nats://user:" + secret + "@one:4222, nats://" + secret + "@two:4222",
		"CALLBOARD_POSTGRES_URL": "postgres://me:" + secret + "@db:5432/callboard?sslpassword=" + secret,
		"CALLBOARD_KEY_PEPPER":   key(32) + "," + key(40),
		"CALLBOARD_WEBHOOK_KEY":  key(32) + ", " + key(40),
	}
}

// replicas are the URLs of two databases. The first has several hosts.
const replicas = "postgres://me:" + secret + "@a,b:5433/callboard\n\tpostgres://me:" + secret + "@c/callboard?sslpassword=" + secret + "\n"

func parse(env map[string]string, args ...string) (*allSettings, error) {
	program := &allSettings{}
	source := setting.Source{Args: args, Getenv: func(name string) string { return env[name] }, Out: io.Discard}
	_, err := setting.Parse(program, source, kong.Vars{"admin_listen": ":9090"})
	return program, err
}

func TestParse(t *testing.T) {
	env := validEnv()
	maps.Copy(env, map[string]string{
		"CALLBOARD_TIME":                   "2026-03-02T09:30:00Z",
		"CALLBOARD_BASE_URL":               "https://api.example.com/phones/v1",
		"CALLBOARD_CURSOR_KEY":             key(32),
		"CALLBOARD_LOG_LEVEL":              "warn",
		"CALLBOARD_COUNT":                  "1000",
		"CALLBOARD_MEMORY":                 "1GiB",
		"CALLBOARD_CLOCK":                  "250ms",
		"CALLBOARD_AGE":                    "0",
		"CALLBOARD_RETRIES":                "10ms, 1d12h",
		"CALLBOARD_READ_URLS":              replicas,
		"CALLBOARD_WEBHOOK_SECRET":         webhook.NewSecret().Reveal() + ", " + webhook.NewSecret().Reveal(),
		"CALLBOARD_WEBHOOK_ALLOW_NETWORKS": "10.0.0.0/8, 192.0.2.1",
		"CALLBOARD_WEBHOOK_PORTS":          "8443, 443,65535",
		"CALLBOARD_WEBHOOK_CA_FILE":        "/etc/hostname",
	})
	p, err := parse(env, "--log-level", "debug", "--stream=OTHER", "--since", "30d", "--instant", "2026-03-02T09:30:00Z", "--networks=10.0.0.0/8", "--networks=::1,::2", "--kinds=voicemail.created, call.ended")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, got, want any }{
		{"NATS URL", p.NATS.URL.Reveal(), env["CALLBOARD_NATS_URL"]},
		{"PostgreSQL URL", p.Postgres.URL.Reveal(), env["CALLBOARD_POSTGRES_URL"]},
		{"what is not set", p.Replica.Reveal(), ""},
		{"a flag overrides a default", p.Stream.Name, "OTHER"},
		{"a flag overrides the environment", p.Log.Level, "debug"},
		{"a default", p.Admin.Listen, ":9090"},
		{"peppers", len(p.Pepper.Peppers), 2},
		{"webhook keys", len(p.Webhook.Keys), 2},
		{"cursor key", base64.StdEncoding.EncodeToString([]byte(p.CursorKey.Reveal())), key(32)},
		{"networks", fmt.Sprint(p.Targets.AllowNetworks), "[10.0.0.0/8 192.0.2.1/32]"},
		{"ports", p.Targets.Ports, []uint16{8443, 443, 65535}},
		{"file", p.Targets.CA, "/etc/hostname"},
		{"a type's own text", p.Time, time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)},
		{"inbox", p.NATS.Inbox, "_INBOX"},
		{"count", p.Count, 1000},
		{"memory", p.Memory, int64(1 << 30)},
		{"duration", p.Clock, 250 * time.Millisecond},
		{"any age", p.Age, time.Duration(0)},
		{"durations", p.Retries, []time.Duration{10 * time.Millisecond, 36 * time.Hour}},
		{"base URL", p.BaseURL, env["CALLBOARD_BASE_URL"]},
		{"URLs", fmt.Sprint(p.ReadURLs), "[postgres://a,b:5433/callboard postgres://c/callboard]"},
		{"webhook secrets", len(p.Secrets), 2},
		{"a flag of days", *p.Since, 30 * 24 * time.Hour},
		{"an instant", p.Instant, time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)},
		{"kinds of events", p.Kinds, []webhook.Kind{"call.ended", "voicemail.created"}},
		{"a flag that is repeated", fmt.Sprint(p.Networks), "[10.0.0.0/8 ::1/128 ::2/128]"},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestParse_Files(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("postgres://a@b/c\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := validEnv()
	delete(env, "CALLBOARD_POSTGRES_URL")
	env["CALLBOARD_POSTGRES_URL_FILE"] = file
	if p, err := parse(env); err != nil || p.Postgres.URL.Reveal() != "postgres://a@b/c" {
		t.Errorf("URL = %q, error = %v, want that of the file", p.Postgres.URL.Reveal(), err)
	}
	if p, err := parse(env, "--postgres-url=postgres://flag/x"); err != nil || p.Postgres.URL.Reveal() != "postgres://flag/x" {
		t.Errorf("URL = %q, error = %v, want that of the flag", p.Postgres.URL.Reveal(), err)
	}
	env["CALLBOARD_STREAM_FILE"] = file // ignored, because the setting is not a secret
	if p, err := parse(env); err != nil || p.Stream.Name != "PHONES" {
		t.Errorf("stream = %q, error = %v, want the default", p.Stream.Name, err)
	}
}

// A URL from a file can be read again. The errors do not contain the secret.
func TestURL_Reload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("nats://user:" + secret + "@one")
	env := validEnv()
	delete(env, "CALLBOARD_NATS_URL")
	env["CALLBOARD_NATS_URL_FILE"] = file
	p, err := parse(env)
	if err != nil {
		t.Fatal(err)
	}
	if p.Postgres.URL.FromFile() || !p.NATS.URL.FromFile() {
		t.Error("FromFile is wrong, want it for the NATS URL alone")
	}
	for _, text := range []string{"nats://user:second@one", "nats://user:third@one"} {
		write(text)
		// Reload can be repeated on what it returns.
		if u, err := p.NATS.URL.Reload(); err != nil || u.Reveal() != text || !u.FromFile() {
			t.Errorf("URL = %q, error = %v, want %q", u.Reveal(), err, text)
		}
	}
	for _, text := range []string{"", secret} {
		write(text)
		if _, err := p.NATS.URL.Reload(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("URL %q: error = %v, want one without the secret", text, err)
		}
	}
	if u, err := p.Postgres.URL.Reload(); err != nil || u.Reveal() != env["CALLBOARD_POSTGRES_URL"] {
		t.Errorf("URL = %q, error = %v, want the setting's", u.Reveal(), err)
	}
}

// Each URL of a file with several can be read again.
func TestURLs_Reload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "urls")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(replicas)
	env := validEnv()
	env["CALLBOARD_READ_URLS_FILE"] = file
	p, err := parse(env)
	if err != nil {
		t.Fatal(err)
	}
	for _, password := range []string{"second", "third"} {
		write(strings.ReplaceAll(replicas, secret, password))
		for i, u := range p.ReadURLs {
			again, err := u.Reload()
			if err != nil || again.String() != u.String() || !strings.Contains(again.Reveal(), password) {
				t.Fatalf("URL %d = %v, error = %v, want %v with the password of the file", i, again, err, u)
			}
			p.ReadURLs[i] = again
		}
	}
	for _, text := range []string{"", secret, strings.Fields(replicas)[0]} {
		write(text)
		if _, err := p.ReadURLs[1].Reload(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("the file has %d bytes: error = %v, want one without the secret", len(text), err)
		}
	}
}

// All that is wrong is reported together, each with its names, what is wrong and what to do.
func TestParse_ReportsAllInvalidSettings(t *testing.T) {
	_, err := parse(map[string]string{
		"CALLBOARD_POSTGRES_URL":    "mysql://me:" + secret + "@db/callboard",
		"CALLBOARD_KEY_PEPPER":      key(32),
		"CALLBOARD_WEBHOOK_KEY":     key(32) + "," + key(31),
		"CALLBOARD_CURSOR_KEY_FILE": "/nowhere/at/all",
		"CALLBOARD_LOG_FORMAT":      "xml",
	}, "--since=7")
	var invalid setting.InvalidError
	if !errors.As(err, &invalid) || strings.Join(invalid, "\n") != strings.Join([]string{
		"CALLBOARD_NATS_URL (--nats-url) is missing: set it to the NATS servers, such as nats://127.0.0.1:4222",
		"CALLBOARD_POSTGRES_URL (--postgres-url) is not the URL of a database: write postgres://user:password@host:5432/database, " +
			"and encode special characters of the password as %XX",
		"CALLBOARD_WEBHOOK_KEY (--webhook-key) has an invalid element: number 2 is not 32 bytes or more in base64: " +
			"generate one with 'openssl rand -base64 32'",
		"CALLBOARD_LOG_FORMAT (--log-format) is not a log format: choose json or console",
		"CALLBOARD_CURSOR_KEY (--cursor-key) can't be read: open /nowhere/at/all: no such file or directory",
		"--since is not a duration: write for example 30d",
	}, "\n") {
		t.Errorf("error = %v", err)
	}
}

func TestParse_InvalidSettings(t *testing.T) {
	for _, c := range []struct{ name, variable, value, want string }{
		{"both a value and a file", "CALLBOARD_POSTGRES_URL_FILE", "/etc/hostname", "unset one of the two"},
		{"a URL without a scheme", "CALLBOARD_NATS_URL", "localhost:4222", "write nats://host:4222"},
		{"one bad URL of several", "CALLBOARD_NATS_URL", "nats://a:4222,b", "write nats://host:4222"},
		{"a missing URL says what to do", "CALLBOARD_NATS_URL", "", "is missing: set it to the NATS servers"},
		{"a password that is no part of a URL", "CALLBOARD_POSTGRES_URL", "postgres://me:" + secret + "#1@db:x/c", "write postgres://"},
		{"a password with @", "CALLBOARD_POSTGRES_URL", "postgres://me:pw@" + secret + "@db/c", "write postgres://"},
		{"a password that begins with /", "CALLBOARD_POSTGRES_URL", "postgres://me:/" + secret + "@db/c", "write postgres://"},
		{"a password with digits and /", "CALLBOARD_POSTGRES_URL", "postgres://me:42/" + secret + "@db,other/c", "write postgres://"},
		{"a password with @ and ?", "CALLBOARD_POSTGRES_URL", "postgres://me:pw@" + secret + "?@db/c", "write postgres://"},
		{"a password with ?", "CALLBOARD_POSTGRES_URL", "postgres://me:" + secret + "?x@db/c", "write postgres://"},
		{"a password with @ in a query", "CALLBOARD_POSTGRES_URL", "postgres://db?password=pw@" + secret, "write postgres://"},
		{"a CA file that is not there", "CALLBOARD_POSTGRES_URL", "postgres://me:" + secret + "@db/c?sslmode=verify-full&sslrootcert=/nowhere/ca", "can't be read, itself or with a variable PG*: open /nowhere/ca:"},
		{"an invalid parameter", "CALLBOARD_POSTGRES_URL", "postgres://me:" + secret + "@db/c?sslmode=maybe", "or correct the variables PG*"},
		{"a NATS password that begins with /", "CALLBOARD_NATS_URL", "nats://user:/" + secret + "@h", "write nats://host:4222"},
		{"a NATS token with /", "CALLBOARD_NATS_URL", "nats://to/" + secret + "@h", "write nats://host:4222"},
		{"a NATS token with ?", "CALLBOARD_NATS_URL", "nats://" + secret + "?x@h", "write nats://host:4222"},
		{"a NATS token with #", "CALLBOARD_NATS_URL", "nats://a:4222,nats://" + secret + "#x@h", "write nats://host:4222"},
		{"keyword=value", "CALLBOARD_POSTGRES_URL", "host=db password=" + secret, "write postgres://"},
		{"a pepper that is no base64", "CALLBOARD_KEY_PEPPER", secret + "!", "openssl rand -base64 32"},
		{"a second pepper that is too short", "CALLBOARD_KEY_PEPPER", key(32) + "," + key(8), "number 2"},
		{"a cursor key that is too short", "CALLBOARD_CURSOR_KEY", key(31), "32 bytes"},
		{"an audio URL of no known kind", "CALLBOARD_AUDIO_URL", "https://bucket", "neither s3:// nor file://"},
		{"an audio URL without a bucket", "CALLBOARD_AUDIO_URL", "s3://?region=x", "names no bucket"},
		{"an audio folder that is not there", "CALLBOARD_AUDIO_URL", "file:///nowhere/at/all", "cannot be read"},
		{"credentials in an audio URL's query", "CALLBOARD_AUDIO_URL", "s3://calls?secret=" + secret, "more than endpoint"},
		{"credentials in an endpoint", "CALLBOARD_AUDIO_URL", "s3://calls?endpoint=https://me:" + secret + "@host", "AWS_ACCESS_KEY_ID"},
		{"a base URL with a user", "CALLBOARD_BASE_URL", "https://me:" + secret + "@host/v1", "https://host/v1"},
		{"a base URL with a query", "CALLBOARD_BASE_URL", "https://host/v1?x", "https://host/v1"},
		{"a base URL with a fragment", "CALLBOARD_BASE_URL", "https://host/v1#x", "https://host/v1"},
		{"a base URL with braces", "CALLBOARD_BASE_URL", "https://host/{tenant}/v1", "https://host/v1"},
		{"a certificate without its key", "CALLBOARD_NATS_CERT", "/etc/hostname", "--nats-cert and --nats-key must be used together"},
		{"a key without its certificate", "CALLBOARD_NATS_KEY", "/etc/hostname", "--nats-cert and --nats-key must be used together"},
		{"an inbox with an empty word", "CALLBOARD_NATS_INBOX", "replies.", "words separated by dots"},
		{"a number below the least", "CALLBOARD_COUNT", "0", "is not a whole number from 1 to 1000: write for example 16"},
		{"a number above the most", "CALLBOARD_COUNT", "1001", "from 1 to 1000"},
		{"a number that is none", "CALLBOARD_COUNT", "many", "from 1 to 1000"},
		{"a number that is too large", "CALLBOARD_COUNT", "99999999999999999999", "from 1 to 1000"},
		{"no memory", "CALLBOARD_MEMORY", "0MiB", "is not a memory size from 14MiB: write for example 64MiB"},
		{"memory without a unit", "CALLBOARD_MEMORY", "64", "write for example 64MiB"},
		{"too little memory", "CALLBOARD_MEMORY", "13MiB", "from 14MiB"},
		{"a duration without a unit", "CALLBOARD_CLOCK", "10", "is not a duration from 250ms to 60s: write for example 1s"},
		{"a duration that is too short", "CALLBOARD_CLOCK", "249ms", "from 250ms to 60s"},
		{"a duration that is too long", "CALLBOARD_CLOCK", "61s", "from 250ms to 60s"},
		{"an age in the future", "CALLBOARD_AGE", "-1h", "is not a duration from 0s: write for example 1h"},
		{"one of several durations", "CALLBOARD_RETRIES", "5s,366d", "number 2 is not a duration from 1ms to 365d: write for example 5s,12h"},
		{"days that overflow", "CALLBOARD_RETRIES", "99999999999d", "number 1"},
		{"half a day", "CALLBOARD_RETRIES", "1.5d", "number 1"},
		{"a trailing comma", "CALLBOARD_RETRIES", "5s,", "number 2"},
		{"no text of a type", "CALLBOARD_TIME", "yesterday", "CALLBOARD_TIME (--time) parsing time"},
		{"a network that is none", "CALLBOARD_WEBHOOK_ALLOW_NETWORKS", "10.0.0.0/8,elsewhere", "number 2"},
		{"port 0", "CALLBOARD_WEBHOOK_PORTS", "443,0", "number 2 is not a port from 1: write for example 443,8443"},
		{"a port that is too large", "CALLBOARD_WEBHOOK_PORTS", "65536", "write for example 443,8443"},
		{"a file that is not there", "CALLBOARD_WEBHOOK_CA_FILE", "/nowhere/at/all", "can't be read: open /nowhere/at/all"},
		{"an address without a port", "CALLBOARD_ADMIN_LISTEN", "8080", "write host:port"},
		{"a stream with a dot", "CALLBOARD_STREAM", "a.b", "must not contain"},
		{"a log level that is none", "CALLBOARD_LOG_LEVEL", "loud", "choose debug, info, warn or error"},
		{"no URL", "CALLBOARD_READ_URLS", " \n", "is an empty list"},
		{"one of several URLs", "CALLBOARD_READ_URLS", replicas + "mysql://me:" + secret + "@db/x", "number 3 is not the URL"},
		{"a signing secret that is none", "CALLBOARD_WEBHOOK_SECRET", webhook.NewSecret().Reveal() + "," + secret, "number 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := validEnv()
			env[c.variable] = c.value
			_, err := parse(env)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error = %v, want it to contain %q", err, c.want)
			}
			requireNoSecret(t, "the message", err.Error())
		})
	}
}

// Secrets do not print, whatever the verb, the encoder or the enclosing struct.
func TestSecrets_DoNotPrint(t *testing.T) {
	env := validEnv()
	env["CALLBOARD_CURSOR_KEY"] = base64.StdEncoding.EncodeToString([]byte(secret + strings.Repeat("x", 40)))
	env["CALLBOARD_READ_URLS"] = replicas
	p, err := parse(env)
	if err != nil {
		t.Fatal(err)
	}
	values := []any{
		p, *p, p.NATS, p.NATS.URL, p.Pepper, p.Pepper.Peppers, p.Pepper.Peppers[0], p.Webhook, p.Webhook.Keys, p.CursorKey, p.ReadURLs,
		struct{ hidden setting.URL }{p.Postgres.URL}, struct{ hidden setting.Secret }{p.CursorKey}, struct{ hidden []setting.URL }{p.ReadURLs},
		map[string]any{"x": p.CursorKey},
	}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			requireNoSecret(t, fmt.Sprintf("%s of %T", verb, v), fmt.Sprintf(verb, v))
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Errorf("JSON of %T: %v", v, err)
		}
		requireNoSecret(t, fmt.Sprintf("JSON of %T", v), string(text))
		var log strings.Builder
		logger := zerolog.New(&log)
		logger.Info().Interface("value", v).Any("any", v).Msg("x")
		requireNoSecret(t, fmt.Sprintf("the log of %T", v), log.String())
	}
}

func TestURL_String(t *testing.T) {
	p, err := parse(validEnv())
	if err != nil {
		t.Fatal(err)
	}
	got, want := fmt.Sprint(p.Postgres.URL, " ", p.NATS.URL), "postgres://db:5432/callboard nats://one:4222,nats://two:4222"
	if got != want {
		t.Errorf("URLs = %s, want %s", got, want)
	}
	env := validEnv()
	for text, want := range map[string]string{
		"postgres://me:" + secret + "@a:5432,b/c?user=x@y":      "postgres://a:5432,b/c",
		"postgresql://db/?password=" + secret + "@" + secret:    "postgres://db/",
		"postgres:///c?host=/run/postgresql&password=" + secret: "postgres:///c",
	} {
		env["CALLBOARD_POSTGRES_URL"] = text
		if p, err := parse(env); err != nil || p.Postgres.URL.String() != want {
			t.Errorf("URL = %v, error = %v, want %s", p.Postgres.URL, err, want)
		}
	}
	env = validEnv()
	env["CALLBOARD_NATS_URL"] = "nats://user:pw@" + secret + "@one/,tls://two:4222" // net/url takes the last "@" for the end of the user
	if p, err := parse(env); err != nil || p.NATS.URL.String() != "nats://one,tls://two:4222" {
		t.Errorf("URL = %v, error = %v, want the servers", p.NATS.URL, err)
	}
}

func TestParse_Help(t *testing.T) {
	env := validEnv()
	var out strings.Builder
	source := setting.Source{Args: []string{"--help"}, Getenv: func(name string) string { return env[name] }, Out: &out}
	_, err := setting.Parse(&allSettings{}, source, kong.Vars{"admin_listen": ":9090"})
	if !errors.Is(err, setting.ErrHelp) {
		t.Errorf("error = %v, want %v", err, setting.ErrHelp)
	}
	for _, want := range []string{"($CALLBOARD_POSTGRES_URL[_FILE])", "($CALLBOARD_STREAM)", "--stream"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help = %s, want it to contain %s", &out, want)
		}
	}
	requireNoSecret(t, "the help", out.String())
}

// requireNoSecret fails the test if a text contains a secret: plain, in base64, in hexadecimal or as bytes.
func requireNoSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))[:8], fmt.Sprintf("%x", secret), "104 117 110 116"} {
		if strings.Contains(text, form) {
			t.Errorf("%s contains a secret: %s", what, text)
		}
	}
}
