package command_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/readapi/limit"
	"callboard/schema/schematest"
)

// natsTrace is the log of a NATS server. It records what each user publishes and subscribes to, and what the server
// denies.
type natsTrace struct {
	mu     sync.Mutex
	users  map[string]string                        // by the number of the connection
	sent   map[string]map[operation]map[string]bool // subjects by user
	denied []denial
}

// operation is PUB or SUB.
type operation string

const (
	publishing  operation = "PUB"
	subscribing operation = "SUB"
)

// denial is what a user was not allowed to do.
type denial struct {
	user      string
	operation operation
	subject   string
}

var (
	tracedConnect   = regexp.MustCompile(`cid:(\d+).* - <<- \[CONNECT \{.*"user":"(\w+)"`)
	tracedOperation = regexp.MustCompile(`cid:(\d+).* - <<- \[H?(PUB|SUB) (\S+)`)
	loggedDenial    = regexp.MustCompile(`cid:(\d+).* - (Publish|Subscription) Violation.* - Subject "([^"]*)"`)
)

func (n *natsTrace) Noticef(string, ...any)              {}
func (n *natsTrace) Debugf(string, ...any)               {}
func (n *natsTrace) Warnf(string, ...any)                {}
func (n *natsTrace) Fatalf(format string, v ...any)      { n.Errorf(format, v...) }
func (n *natsTrace) Errorf(format string, v ...any)      { n.read(fmt.Sprintf(format, v...)) }
func (n *natsTrace) Tracef(format string, values ...any) { n.read(fmt.Sprintf(format, values...)) }

func (n *natsTrace) read(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if found := tracedConnect.FindStringSubmatch(line); found != nil {
		n.users[found[1]] = found[2]
	} else if found := tracedOperation.FindStringSubmatch(line); found != nil {
		user := n.users[found[1]]
		if n.sent[user] == nil {
			n.sent[user] = map[operation]map[string]bool{publishing: {}, subscribing: {}}
		}
		n.sent[user][operation(found[2])][mapped(user, found[3])] = true
	} else if found := loggedDenial.FindStringSubmatch(line); found != nil {
		kind := map[string]operation{"Publish": publishing, "Subscription": subscribing}[found[2]]
		n.denied = append(n.denied, denial{n.users[found[1]], kind, found[3]})
	}
}

// mapped returns the subject on which the server publishes what a user publishes on a subject: its lists and its
// log have that one.
func mapped(user, subject string) string {
	about, ofBudgets := strings.CutSuffix(subject, "."+limit.StreamName)
	request, ofStream := strings.CutPrefix(about, "$JS.API.STREAM.")
	switch system := "phones." + events.Global + "."; user {
	case "publisher", "topology":
		if user == "publisher" && strings.HasPrefix(subject, system) {
			return strings.Replace(subject, system, "denied.", 1)
		}
		return strings.Replace(subject, "$JS.API.", "APP.", 1)
	case "projector", "operator", "owner":
		if ofStream && ofBudgets && !strings.Contains(request, ".") {
			return "READER." + request
		}
	}
	return subject
}

// unmapped returns the subject of a request that an entry of a user's list allows.
func unmapped(entry string) string {
	if request, ofBudgets := strings.CutPrefix(entry, "READER."); ofBudgets {
		return "$JS.API.STREAM." + request + "." + limit.StreamName
	}
	return strings.Replace(entry, "APP.", "$JS.API.", 1)
}

// cleansUp reports whether a publisher's client wants to remove what an interrupted attempt to store a large
// transcript left. It goes on without, and a machine that is slow enough interrupts attempts.
func (d denial) cleansUp() bool {
	return (d.user == "publisher" || d.user == "topology") && d.subject == "APP.STREAM.PURGE.OBJ_"+events.TranscriptBucket
}

// denials returns what was denied since the last call.
func (n *natsTrace) denials() []denial {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.denied
	n.denied = nil
	return list
}

// used reports whether the user has done something that an entry of its list allows.
func (n *natsTrace) used(user string, o operation, entry string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for subject := range n.sent[user][o] {
		if server.SubjectMatchesFilter(subject, entry) {
			return true
		}
	}
	return false
}

// deployedNATS is a NATS server with deploy/nats.conf and the passwords of 'secrets create'.
type deployedNATS struct {
	*testing.T
	dir     string // of the configuration
	options *server.Options
	running *server.Server
	trace   *natsTrace
}

func newDeployedNATS(t *testing.T) *deployedNATS {
	t.Helper()
	return deployNATS(t, deployFile(t, "nats.conf"))
}

// deployNATS starts a server with a configuration file and new passwords.
func deployNATS(t *testing.T, configuration []byte) *deployedNATS {
	t.Helper()
	n := &deployedNATS{T: t, dir: t.TempDir(), trace: &natsTrace{
		users: map[string]string{}, sent: map[string]map[operation]map[string]bool{},
	}}
	if err := os.WriteFile(filepath.Join(n.dir, "nats.conf"), configuration, 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, nil, "", "secrets", "create", filepath.Join(n.dir, "secrets"))
	n.start(eventstest.FreePort(t))
	t.Cleanup(n.stop)
	return n
}

// start starts the server with the file's settings, but for the addresses and the store.
func (n *deployedNATS) start(port int) {
	n.Helper()
	options, err := server.ProcessConfigFile(filepath.Join(n.dir, "nats.conf"))
	if err != nil {
		n.Fatal(err)
	}
	options.Host, options.Port, options.HTTPHost, options.HTTPPort = "127.0.0.1", port, "127.0.0.1", server.RANDOM_PORT
	options.StoreDir, options.NoSigs, options.MaxTracedMsgLen = filepath.Join(n.dir, "store"), true, 1
	options.AuthTimeout = 30 // seconds, on a busy machine
	n.options = options
	if n.running, err = server.NewServer(options); err != nil {
		n.Fatal(err)
	}
	n.running.SetLoggerV2(n.trace, false, true, false)
	n.running.Start()
	if !n.running.ReadyForConnections(3 * time.Minute) {
		n.Fatal("NATS is not ready after three minutes")
	}
}

func (n *deployedNATS) stop() {
	n.running.Shutdown()
	n.running.WaitForShutdown()
}

// restart restarts the server on the same port.
func (n *deployedNATS) restart() {
	n.Helper()
	port := n.running.Addr().(*net.TCPAddr).Port
	n.stop()
	n.start(port)
}

// loseStore restarts the server without its streams.
func (n *deployedNATS) loseStore() {
	n.Helper()
	port := n.running.Addr().(*net.TCPAddr).Port
	n.stop()
	if err := os.RemoveAll(filepath.Join(n.dir, "store")); err != nil {
		n.Fatal(err)
	}
	n.start(port)
}

// url returns the URL of 'secrets create', with this server's address.
func (n *deployedNATS) url(user string) string {
	n.Helper()
	return strings.Replace(readSecret(n.T, filepath.Join(n.dir, "secrets"), "nats-"+user+"-url"), "nats:4222", n.running.Addr().String(), 1)
}

func (n *deployedNATS) connect(user string, options ...nats.Option) *nats.Conn {
	n.Helper()
	return eventstest.Connect(n, n.url(user), append(options, nats.CustomInboxPrefix("_INBOX_"+user))...)
}

// users returns the permissions of all users by name.
func (n *deployedNATS) users() map[string]*server.Permissions {
	users := map[string]*server.Permissions{}
	for _, u := range n.options.Users {
		users[u.Username] = u.Permissions
	}
	return users
}

// The server has the settings that the documentation promises.
func TestNATSConf(t *testing.T) {
	t.Parallel()
	n := newDeployedNATS(t)
	if o := n.options; !o.SyncAlways || o.MaxPayload != 8<<20 || o.SystemAccount != "SYS" || o.JetStreamMaxStore == 0 || o.JetStreamMaxMemory == 0 {
		t.Errorf("sync always = %v, max_payload = %d, system account = %s, limits = %d, %d, want true, 8 MiB, SYS and two limits",
			o.SyncAlways, o.MaxPayload, o.SystemAccount, o.JetStreamMaxStore, o.JetStreamMaxMemory)
	}
	want := []string{"keys", "operator", "owner", "projector", "publisher", "reader", "topology", "webhooks"}
	if got := slices.Sorted(maps.Keys(n.users())); !slices.Equal(got, want) {
		t.Errorf("users = %v, want %v", got, want)
	}
	expect(t, nil, 0, `200 OK`, "healthcheck", fmt.Sprintf("http://%s/healthz?js-enabled-only=true", n.running.MonitorAddr()))
	for what, url := range map[string]string{
		"no user":                    "nats://" + n.running.Addr().String(),
		"a wrong password":           "nats://reader:wrong@" + n.running.Addr().String(),
		"a hash as password":         "nats://reader:$2a$04$x@" + n.running.Addr().String(),
		"the password of another":    strings.Replace(n.url("reader"), "reader:", "operator:", 1),
		"an unknown user":            "nats://root:p@" + n.running.Addr().String(),
		"a user of the system's own": "nats://sys:@" + n.running.Addr().String(),
	} {
		if conn, err := nats.Connect(url); err == nil {
			conn.Close()
			t.Errorf("%s: connected, want a refusal", what)
		}
	}
}

// With the files of 'secrets create', the servers of deploy/compose/cluster.yml have one password for their routes.
func TestNATSConf_Cluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	succeed(t, nil, "", "secrets", "create", filepath.Join(dir, "secrets"), "--nats", "nats:4222,nats2:4222,nats3:4222")
	for name, file := range map[string]string{"callboard.conf": "nats.conf", "cluster.conf": "compose/nats.conf"} {
		if err := os.WriteFile(filepath.Join(dir, name), deployFile(t, file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options, err := server.ProcessConfigFile(filepath.Join(dir, "cluster.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if c := options.Cluster; c.Password == "" || len(options.Routes) != 3 || len(options.Users) < 8 {
		t.Errorf("routes = %d, users = %d, password of routes set: %t, want 3, at least 8 and true", len(options.Routes), len(options.Users), c.Password != "")
	}
}

var disabledTLS = regexp.MustCompile(`(?m)^# (tls \{|  \w+: .*|\})$`)

// The file's block for TLS demands certificates of clients, and its paths are relative to the server's working
// directory.
func TestNATSConf_TLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := eventstest.NewCertificateAuthority(t)
	certificate, key := authority.Issue(t)
	for name, content := range map[string][]byte{"ca.crt": authority.PEM(), "server.crt": certificate, "server.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configuration := disabledTLS.ReplaceAllString(string(deployFile(t, "nats.conf")), "$1")
	n := deployNATS(t, []byte(strings.ReplaceAll(configuration, `"tls/`, `"`+dir+"/")))
	env := map[string]string{
		"CALLBOARD_NATS_URL": strings.Replace(n.url("operator"), "nats://", "tls://", 1), "CALLBOARD_NATS_INBOX": "_INBOX_operator",
		"CALLBOARD_NATS_CA": filepath.Join(dir, "ca.crt"),
	}
	expect(t, env, 1, `NATS at tls://.*tls`, "stream", "check") // whether the server says what is missing depends on who closes first
	env["CALLBOARD_NATS_CERT"], env["CALLBOARD_NATS_KEY"] = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	succeed(t, env, "", "stream", "create")
	succeed(t, env, "", "stream", "check")
}

// permittedFleet is a fleet whose programs connect to NATS as the users of deploy/nats.conf.
type permittedFleet struct {
	*fleet
	nats *deployedNATS
}

func newPermittedFleet(t *testing.T) permittedFleet {
	t.Helper()
	t.Parallel()
	f := permittedFleet{&fleet{T: t, database: schematest.New(t), pepper: strings.Repeat("p", 43) + "="}, newDeployedNATS(t)}
	f.pool = f.database.Pool(t)
	return f
}

// env returns the settings of a program that connects to NATS as one user and to PostgreSQL as another.
func (f permittedFleet) env(natsUser, postgresURL string) map[string]string {
	f.Helper()
	return map[string]string{
		"CALLBOARD_NATS_URL": f.nats.url(natsUser), "CALLBOARD_NATS_INBOX": "_INBOX_" + natsUser, "CALLBOARD_POSTGRES_URL": postgresURL,
		"CALLBOARD_KEY_PEPPER": f.pepper, "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
	}
}

func (f permittedFleet) operator() map[string]string {
	return f.env("operator", f.database.RoleURL("callboard_operator"))
}

func (f permittedFleet) owner() map[string]string { return f.env("operator", f.database.URL()) }

// recordedEvent returns an event of the recorded bodies in events/testdata.
func recordedEvent(t *testing.T, entity events.Entity) (line string, event events.Event) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "events", "testdata", string(entity)+".changed.json"))
	if err != nil {
		t.Fatal(err)
	}
	line = fmt.Sprintf(`{"type": "callboard.%s.changed", "data": %s}`, entity, strings.ReplaceAll(string(body), "\n", " "))
	if event, err = events.DecodeLine([]byte(line), "test"); err != nil {
		t.Fatal(err)
	}
	return line, event
}

// largeTranscript is too large for a message of a megabyte, so it is published as a claim check. Its text can't be
// compressed, so that its backup is large, too.
func (f permittedFleet) largeTranscript(version int64) events.Event {
	f.Helper()
	text := make([]byte, 2<<20)
	_, _ = rand.Read(text) // never fails
	_, event := recordedEvent(f.T, events.EntityTranscript)
	transcript := *event.State.(*events.Transcript)
	transcript.Version, transcript.Text = version, events.Some(hex.EncodeToString(text))
	return events.Changed(&transcript)
}

// TestNATSConf_Permissions runs every program under its user. Nothing is denied, and every entry of the lists is used.
func TestNATSConf_Permissions(t *testing.T) {
	f := newPermittedFleet(t)
	succeed(t, f.operator(), "", "stream", "create", "--partitions", "4")
	succeed(t, f.operator(), "", "stream", "check")
	f.addEndpoint()
	f.endKeys()
	projector := start(t, "projector", f.env("projector", f.database.RoleURL("callboard_projector")))
	f.publishAll()
	f.useSender()
	f.useReader()
	f.fillAuditStream()
	f.useOperator()
	console := "http://" + projector.Await(`"admin":"([^"]+)"`)[1] + "/status.json"
	eventstest.Eventually(t, "a report on the console", func() bool {
		status, body := get(t, console, "")
		return status == http.StatusOK && strings.Contains(string(body), `"stream":"PHONES"`)
	})
	projector.StopCleanly(os.Interrupt)
	f.restoreBackup()
	f.moveStream()
	for _, d := range f.nats.trace.denials() {
		if !d.cleansUp() {
			t.Errorf("denied: %+v", d)
		}
	}
	for user, permissions := range f.nats.users() {
		for o, list := range map[operation]*server.SubjectPermission{publishing: permissions.Publish, subscribing: permissions.Subscribe} {
			if list == nil || len(list.Allow) == 0 {
				t.Errorf("%s has no list for %s, so it may do everything", user, o)
				continue
			}
			for _, entry := range list.Allow {
				if !f.nats.trace.used(user, o, entry) {
					t.Errorf("%s never used %s %s, want no such entry", user, o, entry)
				}
			}
		}
	}
}

// addEndpoint registers an endpoint without a secret, to which nothing is sent. Without one, projectors wake no sender.
func (f permittedFleet) addEndpoint() {
	f.Helper()
	schematest.Exec(f, f.pool, `
		insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state)
		values (gen_random_uuid(), 'test', 'https://example.com', '{call.ended}', 'system', $1, 'active')`, systemID)
}

// useSender runs a sender until it has told others of deliveries.
func (f permittedFleet) useSender() {
	f.Helper()
	env := f.env("webhooks", f.database.RoleURL("callboard_webhooks"))
	env["CALLBOARD_WEBHOOK_KEY"] = f.pepper
	d := start(f, "webhooks", env)
	waitUntilReady(f, "http://"+d.Await(`"admin":"([^"]+)"`)[1])
	for subject, user := range map[string]string{webhook.WakeSubject: "projector", webhook.DueSubject: "webhooks"} {
		eventstest.Eventually(f, "a message on "+subject, func() bool { return f.nats.trace.used(user, publishing, subject) })
	}
	d.StopCleanly(os.Interrupt)
}

// topologyEntities decide what keys open and what belongs to phone systems' set-up.
func topologyEntities() []events.Entity {
	return []events.Entity{
		events.EntityPhoneSystem, events.EntityGroup, events.EntityExtension, events.EntityPhone, events.EntityPhoneNumber,
		events.EntityCallGroup, events.EntityCallMenu,
	}
}

// publishAll publishes every entity: as the topology publisher with the commands, and what the other publisher may
// with the library.
func (f permittedFleet) publishAll() {
	f.Helper()
	var lines []string
	var others []events.Event
	for _, entity := range events.Entities() {
		line, event := recordedEvent(f.T, entity)
		lines = append(lines, line)
		if !slices.Contains(topologyEntities(), entity) {
			event.ID = "" // another one at every publication
			others = append(others, event)
		}
	}
	topology := f.env("topology", "")
	succeed(f, topology, strings.Join(lines, "\n"), "publish", "-")
	succeed(f, topology, fixtureLines(), "publish", "-")
	succeed(f, topology, "", "simulate", "--systems", "2", "--calls", "20")
	for i, user := range []string{"topology", "publisher"} {
		js, err := jetstream.New(f.nats.connect(user), jetstream.WithDefaultTimeout(30*time.Second))
		if err != nil {
			f.Fatal(err)
		}
		p := events.NewPublisher(js, "test", events.MaxMessage(1<<20))
		if err := p.Publish(f.Context(), append(others, f.largeTranscript(int64(100+i)))...); err != nil {
			f.Fatal(err)
		}
	}
}

// useReader makes requests with keys of both tiers, also after a restart of NATS, which loses the budgets' stream
// but not what the reader remembers of it.
func (f permittedFleet) useReader() {
	f.Helper()
	env := f.env("reader", f.database.RoleURL("callboard_reader"))
	env["CALLBOARD_BASE_URL"], env["CALLBOARD_CURSOR_KEY"] = "https://phones.example.com/v1", f.pepper
	env["CALLBOARD_AUDIO_URL"], env["CALLBOARD_LISTEN"] = "file://"+f.TempDir(), "127.0.0.1:0"
	const reports = "/v1/customer/phone-systems/" + systemID + "/call-log-reports?dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-08T00:00:00Z"
	d := start(f, "readapi", env)
	base, admin := "http://"+d.Await(`"public":"([^"]+)"`)[1], "http://"+d.Await(`"admin":"([^"]+)"`)[1]
	keys := map[string]keyWithID{}
	for _, tier := range []string{"standard", "premium"} {
		keys[tier] = issueKey(f, f.operator(), systemID, "--name", tier, "--scopes", "calls:read", "--tier", tier)
	}
	for _, restart := range []bool{false, true} {
		if restart {
			f.nats.restart()
		}
		waitUntilReady(f, admin)
		for tier, key := range keys {
			eventstest.Eventually(f, "a report with a "+tier+" key", func() bool {
				status, _ := get(f, base+reports, key.Key)
				return status == http.StatusOK
			})
		}
	}

	// Another reader reads the budget that the first one has used.
	other := start(f, "readapi", env)
	waitUntilReady(f, "http://"+other.Await(`"admin":"([^"]+)"`)[1])
	base = "http://" + other.Await(`"public":"([^"]+)"`)[1]
	eventstest.Eventually(f, "a report by another reader", func() bool {
		status, _ := get(f, base+reports, keys["premium"].Key)
		return status == http.StatusOK
	})
	other.StopCleanly(os.Interrupt)
	eventstest.Eventually(f, "the audit has the requests", func() bool {
		return shows(f, f.operator(), "listCallLogReports", "keys", "audit", keys["premium"].ID)
	})
	d.StopCleanly(os.Interrupt)
}

// sendAudit publishes audit entries as the reader.
func (f permittedFleet) sendAudit() {
	f.Helper()
	js, err := jetstream.New(f.nats.connect("reader"), jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		f.Fatal(err)
	}
	for range 8 {
		entry := events.AuditEntry{ID: uuid.New(), At: time.Now(), KeyID: uuid.New(), Operation: "listCallLogs", Status: 200, RequestID: "r"}
		message, err := events.EncodeAudit([]events.AuditEntry{entry})
		if err != nil {
			f.Fatal(err)
		}
		if _, err := js.Publish(f.Context(), events.AuditSubject, message); err != nil {
			f.Fatal(err)
		}
	}
}

// fillAuditStream makes the stream of audit entries so full that the projector purges stored ones.
func (f permittedFleet) fillAuditStream() {
	f.Helper()
	f.sendAudit()
	owner := f.ownerJetStream()
	stream, err := owner.Stream(f.Context(), events.AuditStream)
	if err != nil {
		f.Fatal(err)
	}
	before := stream.CachedInfo()
	config := before.Config
	config.MaxBytes = int64(before.State.Bytes) * 5 / 4
	if _, err := owner.UpdateStream(f.Context(), config); err != nil {
		f.Fatal(err)
	}
	eventstest.Eventually(f, "stored audit entries are purged", func() bool {
		info, err := stream.Info(f.Context())
		return err == nil && info.State.FirstSeq > before.State.FirstSeq
	})
	config.MaxBytes = before.Config.MaxBytes
	if _, err := owner.UpdateStream(f.Context(), config); err != nil {
		f.Fatal(err)
	}
}

// useOperator runs the operator's commands that use NATS, with a dead letter among the events.
func (f permittedFleet) useOperator() {
	f.Helper()
	nothing := &nats.Msg{Subject: events.Subject(uuid.MustParse(systemID), events.EntityCall), Data: []byte("nothing")}
	js, err := jetstream.New(f.nats.connect("publisher"), jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		f.Fatal(err)
	}
	if _, err := js.PublishMsg(f.Context(), nothing); err != nil {
		f.Fatal(err)
	}
	eventstest.Eventually(f, "a dead letter", func() bool { return shows(f, f.operator(), systemID, "dead-letters", "list") })
	waitUntilCaughtUp(f, f.operator())
	expect(f, f.operator(), 1, " open ", "dead-letters", "retry", "--all", "--timeout", "5m") // the message is still no event
	f.deniedRetry()
	expect(f, f.operator(), 1, "no message was skipped", "dead-letters", "skip", "0")
	for _, args := range [][]string{{"status"}, {"verify"}} {
		succeed(f, f.operator(), "", args...)
	}
	for _, args := range [][]string{{"rebuild", "--dry-run"}, {"rebuild", "--keep"}, {"repair", "--system", systemID}, {"rollback"}} {
		succeed(f, f.owner(), "", args...)
	}
}

// endKeys revokes keys as the operator, and as those who do nothing else.
func (f permittedFleet) endKeys() {
	f.Helper()
	for _, user := range []string{"operator", "keys"} {
		env := f.env(user, f.database.RoleURL("callboard_operator"))
		key := issueKey(f, env, systemID, "--name", user, "--scopes", "calls:read")
		rolled := succeedJSON[keyWithID](f, env, "keys", "roll", key.ID)
		succeed(f, env, "", "keys", "revoke", rolled.ID)
	}
}

// deniedRetry retries as a user who may not publish. Nothing is published, and the error says what is missing.
func (f permittedFleet) deniedRetry() {
	f.Helper()
	env := f.env("owner", f.database.RoleURL("callboard_operator"))
	expect(f, env, 1, `(?i)permissions violation.*phones\..*\nThe user of CALLBOARD_NATS_URL must be allowed to publish to phones\.\*\.\*`,
		"dead-letters", "retry", "--all")
	expect(f, f.operator(), 0, `tries +1\n`, "dead-letters", "show", "1")
	for _, d := range f.nats.trace.denials() {
		if !d.cleansUp() && (d.user != "owner" || d.operation != publishing || d.subject != "phones."+systemID+".call") {
			f.Errorf("denied: %+v", d)
		}
	}
}

// moveStream makes the requests of the runbooks as the owner: a mirror, the end of the stream, and a look for its
// last message.
func (f permittedFleet) moveStream() {
	f.Helper()
	owner := f.ownerJetStream()
	stream, err := owner.Stream(f.Context(), events.StreamName)
	if err != nil {
		f.Fatal(err)
	}
	mirror, closed := stream.CachedInfo().Config, stream.CachedInfo().Config
	mirror.Name, mirror.Subjects, mirror.SubjectTransform = "PHONES2", nil, nil
	mirror.Mirror = &jetstream.StreamSource{Name: events.StreamName}
	closed.Subjects = []string{"callboard.closed." + events.StreamName}
	if _, err := owner.CreateStream(f.Context(), mirror); err != nil {
		f.Fatal(err)
	}
	if _, err := owner.UpdateStream(f.Context(), closed); err != nil {
		f.Fatal(err)
	}
	if _, err := owner.Publish(f.Context(), closed.Subjects[0], nil); err != nil {
		f.Fatal(err)
	}
	if _, err := stream.GetLastMsgForSubject(f.Context(), closed.Subjects[0]); err != nil {
		f.Fatal(err)
	}
}

// restoreBackup restores a backup, after a loss of the database and of all streams but an empty one.
func (f permittedFleet) restoreBackup() {
	f.Helper()
	dir := f.TempDir()
	succeed(f, f.operator(), "", "backup", dir)
	backups, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(backups) != 1 {
		f.Fatalf("backups = %v, %v, want one", backups, err)
	}
	f.nats.loseStore()
	succeed(f, f.operator(), "", "stream", "create", "--partitions", "4")
	for range 2 { // the second one finds the streams
		succeed(f, f.env("owner", schematest.New(f.T).URL()), "", "restore", backups[0], "--accept-revoked")
	}
	// Readers shall create the stream of budgets again.
	if err := f.ownerJetStream().DeleteStream(f.Context(), limit.StreamName); err != nil {
		f.Fatal(err)
	}
	succeed(f, f.operator(), "", "stream", "check")
}

func (f permittedFleet) ownerJetStream() jetstream.JetStream {
	f.Helper()
	js, err := jetstream.New(f.nats.connect("owner"), jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		f.Fatal(err)
	}
	return js
}
