package scenario_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

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
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", i.programs+string(filepath.Separator),
		"callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi", "callboard/cmd/webhooks")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
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
func (i *installation) environment(role string, changes ...string) []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + i.programs, "CALLBOARD_POSTGRES_URL=" + i.database.RoleURL("callboard_"+role)}
	for name, value := range i.env {
		list = append(list, name+"="+value)
	}
	return append(list, changes...) // the last value of a name applies
}

// run runs a program, checks its exit code and records its output.
func (i *installation) run(code int, env []string, program string, args ...string) {
	i.Helper()
	out := i.runUnrecorded(code, env, program, args...)
	i.record(program+" "+strings.Join(args, " "), out)
}

// runUnrecorded is run for programs that print a secret. It returns the standard output, and records standard error only.
func (i *installation) runUnrecorded(code int, env []string, program string, args ...string) string {
	i.Helper()
	cmd := exec.CommandContext(i.Context(), filepath.Join(i.programs, program), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		i.Errorf("%s %v: %v, want exit code %d: %s", program, args, err, code, &errs)
	}
	if out.Len()+errs.Len() == 0 {
		i.Errorf("%s %v prints nothing", program, args)
	}
	i.record("stderr of "+program, errs.String())
	return out.String()
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
	*installation
	name string
	cmd  *exec.Cmd
	log  string // the file's path
}

var listening = regexp.MustCompile(`"(public|admin)":"([^"]+)"`)

// start starts a program and waits until it has logged its addresses.
func (i *installation) start(name, role string) *daemon {
	i.Helper()
	d := &daemon{installation: i, name: name, cmd: exec.Command(filepath.Join(i.programs, name)), log: filepath.Join(i.TempDir(), name)} //nolint:noctx // the test stops it with a signal
	log, err := os.Create(d.log)
	if err != nil {
		i.Fatal(err)
	}
	defer log.Close()
	d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = i.environment(role, "CALLBOARD_PPROF=true"), log, log
	if err := d.cmd.Start(); err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have exited
		_ = d.cmd.Wait()
	})
	eventstest.Eventually(i, name+" logs its addresses", func() bool {
		for _, address := range listening.FindAllStringSubmatch(d.readLog(), -1) {
			if address[1] == "public" {
				i.public = address[2]
			} else {
				i.admins[name] = address[2]
			}
		}
		return i.admins[name] != ""
	})
	return d
}

func (d *daemon) readLog() string {
	d.Helper()
	text, err := os.ReadFile(d.log)
	if err != nil {
		d.Fatal(err)
	}
	return string(text)
}

// awaitLog waits until the program has logged a text.
func (d *daemon) awaitLog(text string) {
	d.Helper()
	eventstest.Eventually(d, d.name+" logs "+text, func() bool { return strings.Contains(d.readLog(), text) })
}

// stop stops the program with a signal and records its log.
func (d *daemon) stop(signal os.Signal) {
	d.Helper()
	if err := d.cmd.Process.Signal(signal); err != nil {
		d.Fatal(err)
	}
	_ = d.cmd.Wait() // the signal determines the exit code
	d.record("the log of "+d.name, d.readLog())
}

// checkLog checks that the program has logged these texts.
func (d *daemon) checkLog(list ...string) {
	d.Helper()
	log := d.readLog()
	for _, text := range list {
		if !strings.Contains(log, text) {
			d.Errorf("the log of %s lacks %s", d.name, text)
		}
	}
}
