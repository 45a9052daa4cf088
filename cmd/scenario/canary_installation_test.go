package scenario_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"callboard/cmd/programtest"
	"callboard/events"
	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// installation runs the programs with secrets in their environment, and records their output.
type installation struct {
	*canaries
	testing.TB

	programs string // the folder of the binaries
	database *schematest.Database
	nats     *eventstest.Server
	natsURL  string // with the password
	env      map[string]string

	key, id string // of an API key
	system  uuid.UUID
	client  http.Client
	public  string            // the address of the API
	admins  map[string]string // the addresses of admin listeners, by program
}

// natsPassword has characters that need escaping.
const natsPassword = `n4ts/p%ss w+rd"`

func newInstallation(t *testing.T) *installation {
	t.Helper()
	audio := t.TempDir()
	i := &installation{
		canaries: newCanaries(), TB: t, programs: t.TempDir(), database: schematest.New(t), system: uuid.New(), admins: map[string]string{},
		nats: eventstest.NewServer(t, func(o *server.Options) { o.Username, o.Password = "callboard", natsPassword }),
	}
	t.Cleanup(i.client.CloseIdleConnections)
	pepper, cursorKey := newSecret(), newSecret()
	i.natsURL = strings.Replace(i.nats.URL(), "://", "://"+url.UserPassword("callboard", natsPassword).String()+"@", 1)
	i.env = map[string]string{
		"CALLBOARD_NATS_URL": i.natsURL, "CALLBOARD_KEY_PEPPER": base64.StdEncoding.EncodeToString(pepper),
		"CALLBOARD_CURSOR_KEY": base64.StdEncoding.EncodeToString(cursorKey), "CALLBOARD_BASE_URL": "https://phones.example/v1",
		"CALLBOARD_AUDIO_URL": "file://" + audio, "CALLBOARD_LISTEN": "127.0.0.1:0", "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
		"CALLBOARD_LOG_LEVEL": "debug",
	}
	i.addSecret("pepper", string(pepper))
	i.addSecret("cursor key", string(cursorKey))
	i.addSecret("password of NATS", natsPassword)
	i.addSecret("password of PostgreSQL", i.postgresPassword())
	if err := os.WriteFile(filepath.Join(audio, "a.wav"), []byte(fullAudio), 0o600); err != nil {
		t.Fatal(err)
	}
	programtest.Build(t, ".", i.programs, false, "callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi", "callboard/cmd/webhooks")
	return i
}

func (i *installation) postgresPassword() string {
	i.Helper()
	u, err := url.Parse(i.database.RoleURL("callboard_reader"))
	if err != nil {
		i.Fatal(err)
	}
	password, _ := u.User.Password()
	return password
}

// environment returns the environment of a program that connects to PostgreSQL with a role.
func (i *installation) environment(role string, changes ...string) map[string]string {
	env := map[string]string{"HOME": i.programs, "CALLBOARD_POSTGRES_URL": i.database.RoleURL("callboard_" + role)}
	maps.Copy(env, i.env)
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		env[name] = value
	}
	return env
}

// run runs a program, checks its exit code and records its output.
func (i *installation) run(code int, env map[string]string, program string, args ...string) {
	i.Helper()
	out := i.runUnrecorded(code, env, program, args...)
	i.record(program+" "+strings.Join(args, " "), out)
}

// runUnrecorded is run for programs that print a secret. It returns the standard output, and records standard error only.
func (i *installation) runUnrecorded(code int, env map[string]string, program string, args ...string) string {
	i.Helper()
	out, errs, got := programtest.Run(i, filepath.Join(i.programs, program), env, args...)
	if got != code {
		i.Errorf("%s %v: exit code = %d, want %d: %s", program, args, got, code, errs)
	}
	if out+errs == "" {
		i.Errorf("%s %v prints nothing", program, args)
	}
	i.record("stderr of "+program, errs)
	return out
}

// issue issues a key and adds it to the secrets.
func (i *installation) issue() {
	i.Helper()
	var issued struct{ ID, Key string }
	out := i.runUnrecorded(0, i.environment("operator"), "callboard", "keys", "issue", "--json", "--name", "canary", "--system", i.system.String(),
		"--scopes", "calls:read,recordings:read")
	if err := json.Unmarshal([]byte(out), &issued); err != nil || issued.Key == "" {
		i.Fatalf("the output has no key: %v", err)
	}
	i.id, i.key = issued.ID, issued.Key
	i.addSecret("key", i.key)
	i.addSecret("key's secret", i.key[strings.LastIndexByte(i.key, '_')+1:])
}

// publish publishes a call with a recording.
func (i *installation) publish() {
	i.Helper()
	audio := recording(i.system, uuid.New(), fullRecording, 1, events.RecordingReady)
	publisher := events.NewPublisher(eventstest.JetStream(i, i.natsURL), "canary")
	list := changed(phoneSystem(i.system, 1, "Canary"), call(i.system, audio.CallID.Value, 1), audio)
	if err := publisher.Publish(i.Context(), list...); err != nil {
		i.Fatal(err)
	}
}

// daemon is a running program.
type daemon struct {
	*programtest.Process
	canaries *canaries
}

// start starts a program and waits until it has logged its addresses.
func (i *installation) start(name, role string) *daemon {
	i.Helper()
	d := &daemon{programtest.NewProcess(i, name, filepath.Join(i.programs, name), i.environment(role, "CALLBOARD_PPROF=true")), i.canaries}
	d.Start()
	addresses := d.Await(`(?:"public":"([^"]+)",)?"admin":"([^"]+)"`)
	if addresses[1] != "" {
		i.public = addresses[1]
	}
	i.admins[name] = addresses[2]
	return d
}

// stop stops the program with a signal, which determines the exit code, and records its log.
func (d *daemon) stop(signal os.Signal) {
	d.Helper()
	d.Stop(signal)
	d.canaries.record("the log of "+d.Name(), d.Out.String()+d.Err.String())
}

// checkLog checks that the program has logged these texts.
func (d *daemon) checkLog(list ...string) {
	d.Helper()
	for _, text := range list {
		if !d.Err.Contains(text) {
			d.Errorf("the log of %s lacks %s", d.Name(), text)
		}
	}
}
