package setting_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"callboard/cmd/setting"
)

// allSettings has all settings.
type allSettings struct {
	NATS       setting.NATS          `embed:""`
	Stream     setting.Stream        `embed:""`
	Postgres   setting.Postgres      `embed:""`
	Replica    setting.Replica       `embed:""`
	Pepper     setting.Pepper        `embed:""`
	AudioURL   setting.AudioURL      `setting:"CALLBOARD_AUDIO_URL"`
	CursorKey  setting.CursorKey     `setting:"CALLBOARD_CURSOR_KEY" secret:""`
	BaseURL    setting.BaseURL       `name:"base-url" setting:"CALLBOARD_BASE_URL"`
	Proxies    setting.Networks      `setting:"CALLBOARD_TRUSTED_PROXIES"`
	Partitions setting.Partitions    `setting:"CALLBOARD_PARTITIONS"`
	Listen     setting.Address       `setting:"CALLBOARD_LISTEN" default:":8080"`
	Read       setting.Connections   `name:"read-connections" setting:"CALLBOARD_READ_CONNECTIONS" default:"16"`
	Memory     setting.Memory        `setting:"CALLBOARD_DIRECTORY_MEMORY" default:"64MiB"`
	Bodies     setting.BodyMemory    `name:"body-memory" setting:"CALLBOARD_BODY_MEMORY" default:"14MiB"`
	Drain      setting.Drain         `setting:"CALLBOARD_DRAIN" default:"0s"`
	Clock      setting.ClockInterval `setting:"CALLBOARD_CLOCK" default:"1s"`
	MaxAge     setting.MaxAge        `name:"coverage-max-age" setting:"CALLBOARD_COVERAGE_MAX_AGE" default:"1h"`
	PProf      setting.Switch        `name:"pprof" setting:"CALLBOARD_PPROF" default:"false"`
	Premium    setting.Premium       `embed:""`
	Log        setting.Log           `embed:""`
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
	}
}

func parse(env map[string]string, args ...string) (*allSettings, error) {
	program := &allSettings{}
	_, err := setting.Parse(program, setting.Source{
		Args: args, Getenv: func(name string) string { return env[name] }, Out: io.Discard,
	})
	return program, err
}

func TestParse(t *testing.T) {
	env := validEnv()
	env["CALLBOARD_TRUSTED_PROXIES"] = "10.0.0.0/8, 192.0.2.1"
	env["CALLBOARD_PARTITIONS"] = "4-6,1,5"
	env["CALLBOARD_BASE_URL"] = "https://api.example.com/phones/v1"
	env["CALLBOARD_CURSOR_KEY"] = key(32)
	env["CALLBOARD_AUDIO_URL"] = "s3://calls?region=eu-central-1"
	env["CALLBOARD_LOG_LEVEL"] = "warn"
	env["CALLBOARD_READ_CONNECTIONS"] = "1000"
	env["CALLBOARD_DIRECTORY_MEMORY"] = "1GiB"
	env["CALLBOARD_DRAIN"] = "1m30s"
	env["CALLBOARD_COVERAGE_MAX_AGE"] = "0"
	env["CALLBOARD_CLOCK"] = "250ms"
	env["CALLBOARD_PPROF"] = "true"
	env["CALLBOARD_PREMIUM_PER_MINUTE"] = "120879"
	p, err := parse(env, "--log-level", "debug", "--stream=OTHER")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, got, want any }{
		{"NATS URL", p.NATS.URL.Get().Reveal(), env["CALLBOARD_NATS_URL"]},
		{"PostgreSQL URL", p.Postgres.URL.Get().Reveal(), env["CALLBOARD_POSTGRES_URL"]},
		{"replica", p.Replica.URL.IsSet(), false},
		{"a flag overrides a default", p.Stream.Name.Get(), "OTHER"},
		{"a flag overrides the environment", p.Log.Level.Get(), zerolog.DebugLevel},
		{"clock interval", p.Clock.Get(), 250 * time.Millisecond},
		{"a default", p.Listen.Get(), ":8080"},
		{"peppers", len(p.Pepper.Peppers.Get()), 2},
		{"cursor key", base64.StdEncoding.EncodeToString([]byte(p.CursorKey.Get().Reveal())), key(32)},
		{"audio", p.AudioURL.IsSet(), true},
		{"proxies", fmt.Sprint(p.Proxies.Get()), "[10.0.0.0/8 192.0.2.1/32]"},
		{"partitions", p.Partitions.Get(), []int{1, 4, 5, 6}},
		{"inbox", p.NATS.Inbox.Get(), "_INBOX"},
		{"connections", p.Read.Get(), 1000},
		{"memory", p.Memory.Get(), int64(1 << 30)},
		{"drain", p.Drain.Get(), 90 * time.Second},
		{"age", p.MaxAge.Get(), time.Duration(0)},
		{"switch", p.PProf.Get(), true},
		{"allowance", p.Premium.PerMinute.Get(), 120879},
		{"base URL", p.BaseURL.Get(), env["CALLBOARD_BASE_URL"]},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestParse_AllPartitions(t *testing.T) {
	p, err := parse(validEnv())
	if err != nil || p.Partitions.Get() != nil {
		t.Errorf("partitions = %v, error = %v, want nil, which means all", p.Partitions.Get(), err)
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
	if p, err := parse(env); err != nil || p.Postgres.URL.Get().Reveal() != "postgres://a@b/c" {
		t.Errorf("URL = %q, error = %v, want that of the file", p.Postgres.URL.Get().Reveal(), err)
	}
	if p, err := parse(env, "--postgres-url=postgres://flag/x"); err != nil || p.Postgres.URL.Get().Reveal() != "postgres://flag/x" {
		t.Errorf("URL = %q, error = %v, want that of the flag", p.Postgres.URL.Get().Reveal(), err)
	}
	env["CALLBOARD_STREAM_FILE"] = file // ignored, because the setting is not a secret
	if p, err := parse(env); err != nil || p.Stream.Name.Get() != "PHONES" {
		t.Errorf("stream = %q, error = %v, want the default", p.Stream.Name.Get(), err)
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
	if p.Postgres.URL.Get().FromFile() || !p.NATS.URL.Get().FromFile() {
		t.Error("FromFile is wrong, want it for the NATS URL alone")
	}
	for _, text := range []string{"nats://user:second@one", "nats://user:third@one"} {
		write(text)
		// Reload can be repeated on what it returns.
		if u, err := p.NATS.URL.Get().Reload(); err != nil || u.Reveal() != text || !u.FromFile() {
			t.Errorf("URL = %q, error = %v, want %q", u.Reveal(), err, text)
		}
	}
	for _, text := range []string{"", secret} {
		write(text)
		if _, err := p.NATS.URL.Get().Reload(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("URL %q: error = %v, want one without the secret", text, err)
		}
	}
	if u, err := p.Postgres.URL.Get().Reload(); err != nil || u.Reveal() != env["CALLBOARD_POSTGRES_URL"] {
		t.Errorf("URL = %q, error = %v, want the setting's", u.Reveal(), err)
	}
}

func TestParse_ReportsAllInvalidSettings(t *testing.T) {
	_, err := parse(map[string]string{
		"CALLBOARD_POSTGRES_URL":      "postgres://me:" + secret + "/x@db/callboard",
		"CALLBOARD_POSTGRES_READ_URL": "mysql://me:" + secret + "@db/callboard",
		"CALLBOARD_KEY_PEPPER":        key(32) + "," + key(31),
		"CALLBOARD_CURSOR_KEY_FILE":   "/nowhere/at/all",
		"CALLBOARD_AUDIO_URL":         "s3://me:" + secret + "@calls?region=x&secret=" + secret,
		"CALLBOARD_TRUSTED_PROXIES":   "10.0.0.0/8,elsewhere",
		"CALLBOARD_PARTITIONS":        "7-3",
		"CALLBOARD_BASE_URL":          "https://api.example.com",
		"CALLBOARD_LISTEN":            "8080",
		"CALLBOARD_LOG_LEVEL":         "loud",
		"CALLBOARD_LOG_FORMAT":        "xml",
		"CALLBOARD_STREAM":            "a.b",
		"CALLBOARD_NATS_CREDS":        "/nowhere/at/all",
		"CALLBOARD_NATS_CA":           "/nowhere/at/all",
		"CALLBOARD_NATS_INBOX":        "replies.>",
	})
	var invalid *setting.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("%v", err)
	}
	var names []string
	for _, f := range invalid.Settings {
		names = append(names, f.Setting)
		if f.Detail == "" || f.Flag == "" {
			t.Errorf("invalid setting = %+v, want a flag and a detail", f)
		}
		if !strings.Contains(err.Error(), f.Setting+" ("+f.Flag+") "+f.Detail) {
			t.Errorf("error = %v, want it to contain %s", err, f.Setting)
		}
	}
	want := []string{
		"CALLBOARD_NATS_URL", "CALLBOARD_NATS_CREDS", "CALLBOARD_NATS_CA", "CALLBOARD_NATS_INBOX", "CALLBOARD_STREAM", "CALLBOARD_POSTGRES_URL", "CALLBOARD_POSTGRES_READ_URL",
		"CALLBOARD_KEY_PEPPER", "CALLBOARD_CURSOR_KEY", "CALLBOARD_BASE_URL", "CALLBOARD_TRUSTED_PROXIES", "CALLBOARD_PARTITIONS",
		"CALLBOARD_LISTEN", "CALLBOARD_LOG_LEVEL", "CALLBOARD_LOG_FORMAT", "CALLBOARD_AUDIO_URL",
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("invalid settings =\n%v, want\n%v", names, want)
	}
	requireNoSecret(t, "the message", err.Error())
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
		{"an allowance of nothing", "CALLBOARD_PREMIUM_PER_MINUTE", "0", "(--premium-per-minute) is not a whole number from 1 to 2147483647"},
		{"an allowance that is no number", "CALLBOARD_PREMIUM_PER_MINUTE", "many", "from 1 to 2147483647"},
		{"an allowance that is too large", "CALLBOARD_PREMIUM_PER_MINUTE", "2147483648", "from 1 to 2147483647"},
		{"a certificate without its key", "CALLBOARD_NATS_CERT", "/etc/hostname", "needs CALLBOARD_NATS_KEY: set both or none"},
		{"a key without its certificate", "CALLBOARD_NATS_KEY", "/etc/hostname", "needs CALLBOARD_NATS_CERT: set both or none"},
		{"an inbox with an empty word", "CALLBOARD_NATS_INBOX", "replies.", "words separated by dots"},
		{"no connections", "CALLBOARD_READ_CONNECTIONS", "0", "from 1 to 1000"},
		{"too many connections", "CALLBOARD_READ_CONNECTIONS", "1001", "from 1 to 1000"},
		{"no memory", "CALLBOARD_DIRECTORY_MEMORY", "0MiB", "write for example 64MiB"},
		{"memory without a unit", "CALLBOARD_DIRECTORY_MEMORY", "64", "write for example 64MiB"},
		{"too little memory for responses", "CALLBOARD_BODY_MEMORY", "13MiB", "14MiB or more"},
		{"a drain without a unit", "CALLBOARD_DRAIN", "10", "write for example 10s"},
		{"a drain that has passed", "CALLBOARD_DRAIN", "-1s", "from 0s to 10m"},
		{"a drain that is too long", "CALLBOARD_DRAIN", "11m", "from 0s to 10m"},
		{"an age without a unit", "CALLBOARD_COVERAGE_MAX_AGE", "10", "write for example 1h"},
		{"an age in the future", "CALLBOARD_COVERAGE_MAX_AGE", "-1h", "write for example 1h"},
		{"an age that every request exceeds", "CALLBOARD_COVERAGE_MAX_AGE", "1ms", "write for example 1h"},
		{"clock messages too often", "CALLBOARD_CLOCK", "249ms", "from 250ms to 60s"},
		{"clock messages too far apart", "CALLBOARD_CLOCK", "61s", "from 250ms to 60s"},
		{"a switch that is neither on nor off", "CALLBOARD_PPROF", "maybe", "neither true nor false"},
		{"a huge partition", "CALLBOARD_PARTITIONS", "0-99999999999", "0-7,12"},
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
	p, err := parse(env)
	if err != nil {
		t.Fatal(err)
	}
	values := []any{
		p, *p, p.NATS, p.NATS.URL, p.NATS.URL.Get(), p.Postgres.URL, p.Postgres.URL.Get(), p.Pepper, p.Pepper.Peppers.Get(),
		p.CursorKey, p.CursorKey.Get(), struct{ hidden setting.URL }{p.Postgres.URL.Get()}, struct{ hidden setting.Secret }{p.CursorKey.Get()},
		[]setting.URL{p.Postgres.URL.Get()}, map[string]any{"x": p.CursorKey},
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
	got, want := fmt.Sprint(p.Postgres.URL, " ", p.NATS.URL.Get()), "postgres://db:5432/callboard nats://one:4222,nats://two:4222"
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
		if p, err := parse(env); err != nil || p.Postgres.URL.Get().String() != want {
			t.Errorf("URL = %v, error = %v, want %s", p.Postgres.URL, err, want)
		}
	}
	env = validEnv()
	env["CALLBOARD_NATS_URL"] = "nats://user:pw@" + secret + "@one/,tls://two:4222" // net/url takes the last "@" for the end of the user
	if p, err := parse(env); err != nil || p.NATS.URL.Get().String() != "nats://one,tls://two:4222" {
		t.Errorf("URL = %v, error = %v, want the servers", p.NATS.URL, err)
	}
}

func TestParse_Help(t *testing.T) {
	env := validEnv()
	var out strings.Builder
	_, err := setting.Parse(&allSettings{}, setting.Source{
		Args: []string{"--help"}, Getenv: func(name string) string { return env[name] }, Out: &out,
	})
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

func TestRedact(t *testing.T) {
	got := setting.Redact("unexpected argument postgres://me:" + secret + "@db/x, nats://t@h")
	if want := "unexpected argument postgres://db/x, nats://h"; got != want {
		t.Errorf("text = %s, want %s", got, want)
	}
	if got := setting.Redact("unexpected argument postgres://me:pw@" + secret + "@db/x"); got != "unexpected argument postgres://db/x" {
		t.Errorf("text = %s, want it without the whole password", got)
	}
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
