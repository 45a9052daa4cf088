package scenario_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// install is callboard as operators run it: the real programs, with real secrets in their environment. All that they say is kept.
type install struct {
	*canaries
	t        *testing.T
	programs string // the folder of their binaries
	database *schematest.Database
	nats     *eventstest.Server
	broker   string // the NATS servers' URL, with its password
	env      map[string]string

	key, id string // an API key, and its identifier
	system  uuid.UUID
	client  http.Client
	public  string // addresses of listeners
	admins  map[string]string
}

// natsPassword has what needs escapes in it.
const natsPassword = `n4ts/p%ss w+rd"`

func newInstall(t *testing.T) *install {
	t.Helper()
	sounds := t.TempDir()
	i := &install{
		canaries: newCanaries(), t: t, programs: t.TempDir(), database: schematest.New(t), system: uuid.New(), admins: map[string]string{},
		nats: eventstest.NewServer(t, func(o *server.Options) { o.Username, o.Password = "callboard", natsPassword }),
	}
	t.Cleanup(i.client.CloseIdleConnections)
	pepper, cursorKey := newSecret(), newSecret()
	i.broker = strings.Replace(i.nats.URL(), "://", "://"+url.UserPassword("callboard", natsPassword).String()+"@", 1)
	i.env = map[string]string{
		"CALLBOARD_NATS_URL": i.broker, "CALLBOARD_KEY_PEPPER": base64.StdEncoding.EncodeToString(pepper),
		"CALLBOARD_CURSOR_KEY": base64.StdEncoding.EncodeToString(cursorKey), "CALLBOARD_BASE_URL": "https://phones.example/v1",
		"CALLBOARD_AUDIO_URL": "file://" + sounds, "CALLBOARD_LISTEN": "127.0.0.1:0", "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
		"CALLBOARD_LOG_LEVEL": "debug",
	}
	i.hide("pepper", string(pepper))
	i.hide("cursor key", string(cursorKey))
	i.hide("password of NATS", natsPassword)
	i.hide("password of PostgreSQL", i.postgresPassword())
	if err := os.WriteFile(filepath.Join(sounds, "a.wav"), []byte(fullAudio), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", i.programs+string(filepath.Separator),
		"callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return i
}

func (i *install) postgresPassword() string {
	i.t.Helper()
	u, err := url.Parse(i.database.RoleURL("callboard_reader"))
	if err != nil {
		i.t.Fatal(err)
	}
	password, _ := u.User.Password()
	return password
}

// as is the environment of a program that has a role in PostgreSQL, with changes.
func (i *install) as(role string, changes ...string) []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + i.programs, "CALLBOARD_POSTGRES_URL=" + i.database.RoleURL("callboard_"+role)}
	for name, value := range i.env {
		list = append(list, name+"="+value)
	}
	return append(list, changes...) // the last of a name counts
}

// run runs a program to its end and hears what it says. The exit code has to be the one given.
func (i *install) run(code int, env []string, program string, args ...string) {
	i.t.Helper()
	out := i.quietly(code, env, program, args...)
	i.hear(program+" "+strings.Join(args, " "), out)
}

// quietly is run for what is meant to show a secret on its standard output, which it returns.
func (i *install) quietly(code int, env []string, program string, args ...string) string {
	i.t.Helper()
	cmd := exec.CommandContext(i.t.Context(), filepath.Join(i.programs, program), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		i.t.Errorf("%s %v: %v, want exit %d: %s", program, args, err, code, &errs)
	}
	if out.Len()+errs.Len() == 0 {
		i.t.Errorf("%s %v says nothing", program, args)
	}
	i.hear("stderr of "+program, errs.String())
	return out.String()
}

// issue issues the key, which is a canary from here on.
func (i *install) issue() {
	i.t.Helper()
	var issued struct{ ID, Key string }
	out := i.quietly(0, i.as("operator"), "callboard", "keys", "issue", "--json", "--name", "canary", "--system", i.system.String(),
		"--scopes", "calls:read,recordings:read")
	if err := json.Unmarshal([]byte(out), &issued); err != nil || issued.Key == "" {
		i.t.Fatalf("no key: %v", err)
	}
	i.id, i.key = issued.ID, issued.Key
	i.hide("key", i.key)
	i.hide("key's secret", i.key[strings.LastIndexByte(i.key, '_')+1:])
}

// publish publishes a call with a sound.
func (i *install) publish() {
	i.t.Helper()
	sound := recording(i.system, uuid.New(), fullSound, 1, events.RecordingReady)
	publisher := events.NewPublisher(eventstest.JetStream(i.t, i.broker), "canary")
	list := changed(phoneSystem(i.system, 1, "Canary"), call(i.system, sound.CallID.Value, 1), sound)
	if err := publisher.Publish(i.t.Context(), list...); err != nil {
		i.t.Fatal(err)
	}
}

// daemon is a program that runs.
type daemon struct {
	*install
	name string
	cmd  *exec.Cmd
	log  string // a file
}

var listening = regexp.MustCompile(`"(public|admin)":"([^"]+)"`)

// start starts a server and returns once it listens.
func (i *install) start(name, role string) *daemon {
	i.t.Helper()
	d := &daemon{install: i, name: name, cmd: exec.Command(filepath.Join(i.programs, name)), log: filepath.Join(i.t.TempDir(), name)} //nolint:noctx // it is ended by its signal
	log, err := os.Create(d.log)
	if err != nil {
		i.t.Fatal(err)
	}
	defer log.Close()
	d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = i.as(role), log, log
	if err := d.cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		_ = d.cmd.Wait()
	})
	i.eventually(func() error {
		for _, address := range listening.FindAllStringSubmatch(d.said(), -1) {
			if address[1] == "public" {
				i.public = address[2]
			} else {
				i.admins[name] = address[2]
			}
		}
		if i.admins[name] == "" {
			return fmt.Errorf("%s does not say where it listens: %s", name, d.said())
		}
		return nil
	})
	return d
}

func (d *daemon) said() string {
	d.t.Helper()
	text, err := os.ReadFile(d.log)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// end ends the program by a signal and hears its log.
func (d *daemon) end(signal os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(signal); err != nil {
		d.t.Fatal(err)
	}
	_ = d.cmd.Wait() // how it ended is the signal's to say
	d.hear("the log of "+d.name, d.said())
}

// mentions fails the test if the program's log lacks one of these.
func (d *daemon) mentions(list ...string) {
	d.t.Helper()
	log := d.said()
	for _, text := range list {
		if !strings.Contains(log, text) {
			d.t.Errorf("the log of %s has no %s", d.name, text)
		}
	}
}

func (i *install) eventually(try func() error) {
	i.t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for err := try(); err != nil; err = try() {
		select {
		case <-deadline:
			i.t.Fatal(err)
		case <-tick.C:
		}
	}
}
