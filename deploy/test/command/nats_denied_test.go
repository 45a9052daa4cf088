package command_test

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/webhook"
	"callboard/readapi/limit"
)

// TestNATSConf_Denied tries everything that a user may not do: what only others may publish, what nobody may do to
// a stream, others' replies and what the streams hold.
func TestNATSConf_Denied(t *testing.T) {
	t.Parallel()
	n := newDeployedNATS(t)
	users := n.users()
	for user, permissions := range users {
		conn := n.connect(user, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default prints them
		want := map[denial]bool{}
		for _, subject := range forbiddenPublications(users, user) {
			want[denial{user, publishing, mapped(user, subject)}] = true
			if err := conn.PublishRequest(subject, conn.NewRespInbox(), nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, subject := range forbiddenSubscriptions(users, user) {
			want[denial{user, subscribing, subject}] = true
			if _, err := conn.SubscribeSync(subject); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		got := map[denial]bool{}
		for _, d := range n.trace.denials() {
			got[d] = true
		}
		for d := range want {
			if !got[d] {
				t.Errorf("allowed: %+v, want a denial", d)
			}
		}
		if len(want) < 60 || len(got) != len(want) {
			t.Errorf("%s, with %d entries: denials = %d, want %d, at least 60", user, len(permissions.Publish.Allow), len(got), len(want))
		}
	}
}

// forbiddenPublications returns subjects on which the user may not publish. Only the first ones depend on the
// lists: an entry that is too wide does not make the others allowed.
func forbiddenPublications(users map[string]*server.Permissions, user string) []string {
	subjects := forbiddenToAll()
	if user != "owner" {
		subjects = append(subjects, ofStreams("STREAM.DELETE.", "STREAM.UPDATE.", "STREAM.RESTORE.")...)
	}
	for _, subject := range ofStreams("STREAM.PURGE.") {
		if user != "projector" || !strings.HasSuffix(subject, "."+events.AuditStream) {
			subjects = append(subjects, subject)
		}
	}
	for other, permissions := range users {
		for _, entry := range permissions.Publish.Allow {
			subjects = append(subjects, instance(unmapped(entry)))
		}
		subjects = append(subjects, "_INBOX_"+other+".x.1") // false replies
	}
	if user != "topology" && user != "operator" { // an operator publishes dead letters again, of every kind
		for _, entity := range topologyEntities() {
			subjects = append(subjects, "phones."+systemID+"."+string(entity))
		}
		for _, entity := range events.Entities() {
			subjects = append(subjects, "phones.global."+string(entity))
		}
	}
	slices.Sort(subjects)
	return slices.DeleteFunc(slices.Compact(subjects), func(subject string) bool {
		return matchesAny(mapped(user, subject), users[user].Publish.Allow)
	})
}

// forbiddenToAll returns what would lose or change stored messages, or read the server's state.
func forbiddenToAll() []string {
	subjects := []string{
		"phones.0." + systemID + ".call", // the stored form
		"_INBOX.x.1", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.APP.CONNZ", "$JS.API.ACCOUNT.PURGE.APP", "$JS.API.SERVER.REMOVE",
		"APP.STREAM.DELETE.PHONES",
	}
	return append(subjects, ofStreams("STREAM.MSG.DELETE.", "STREAM.LEADER.STEPDOWN.", "STREAM.PEER.REMOVE.")...)
}

// ofStreams returns the subjects of requests to JetStream about each stream.
func ofStreams(requests ...string) []string {
	var subjects []string
	for _, stream := range []string{"PHONES", events.KeyStream, events.AuditStream, "OBJ_PHONE_TRANSCRIPTS", limit.StreamName} {
		for _, request := range requests {
			subjects = append(subjects, "$JS.API."+request+stream)
		}
	}
	return subjects
}

// forbiddenSubscriptions returns subjects to which the user may not subscribe.
func forbiddenSubscriptions(users map[string]*server.Permissions, user string) []string {
	subjects := []string{
		">", "*.>", "_INBOX.>", "phones.>", "phones.*.call", "callboard.audit.>", "callboard.limits.>", "callboard.>", "$O.>", "$JS.API.>", "$JS.ACK.>", "$SYS.>",
	}
	if user != "webhooks" {
		subjects = append(subjects, webhook.WakeSubject, webhook.DueSubject)
	}
	for other := range users {
		if other != user {
			subjects = append(subjects, "_INBOX_"+other+".>", "_INBOX_"+other+".*.*")
		}
	}
	return subjects
}

// instance returns a subject that matches a list's entry.
func instance(entry string) string {
	return strings.NewReplacer("*", "x", ">", "x.x").Replace(entry)
}

func matchesAny(subject string, entries []string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool { return server.SubjectMatchesFilter(subject, entry) })
}

// account returns the account of a user.
func (n *deployedNATS) account(user string) *server.AccountInfo {
	n.Helper()
	for _, u := range n.options.Users {
		if u.Username == user {
			found, err := n.running.Accountz(&server.AccountzOptions{Account: u.Account.Name})
			if err != nil {
				n.Fatal(err)
			}
			return found.Account
		}
	}
	n.Fatalf("no user %s", user)
	return nil
}

// NATS answers a request with its own rights, on the subject that the request names. TestNATSConf_Replies makes
// each request that the users of other accounts than APP may make, and names as the subject of the answer each one
// on which the user may not publish. No answer gets there.
func TestNATSConf_Replies(t *testing.T) {
	t.Parallel()
	n := deployNATS(t, bytes.Replace(deployFile(t, "nats.conf"), []byte("sync_interval: always"), nil, 1)) // no test fails the power
	n.createStreams()
	listeners := n.listen()

	// An answer can be a whole message, with a content of the publisher's choice.
	const object = "$O.PHONE_TRANSCRIPTS.M.answer"
	if _, err := n.connect("publisher").RequestWithContext(t.Context(), object, []byte("answer")); err != nil {
		t.Fatal(err)
	}
	for user, permissions := range n.users() {
		if n.account(user).AccountName == "APP" {
			continue
		}
		conn, replies := n.connect(user), forbiddenPublications(n.users(), user)
		for _, entry := range permissions.Publish.Allow {
			request := &nats.Msg{Subject: instance(unmapped(entry))}
			if strings.HasPrefix(request.Subject, "$JS.API.DIRECT.GET.") {
				request.Subject = "$JS.API.DIRECT.GET.OBJ_PHONE_TRANSCRIPTS." + object
			} else if !strings.HasPrefix(request.Subject, "$JS.API.") {
				request.Data = []byte(user)
			}
			for _, request.Reply = range replies {
				if err := conn.PublishMsg(request); err != nil {
					t.Fatal(err)
				}
			}
			if user == "webhooks" { // nobody answers it
				continue
			}
			if _, err := conn.RequestMsgWithContext(t.Context(), request); err != nil { // is answered after the others
				t.Fatalf("request of %s on %s: %v", user, request.Subject, err)
			}
		}
	}
	for user, listener := range listeners {
		if message, err := listener.NextMsg(time.Millisecond); err == nil {
			t.Errorf("%s got %q on %s, want nothing", user, message.Data, message.Subject)
		}
	}
	for _, stream := range []string{"PHONES", events.KeyStream, events.AuditStream, "OBJ_PHONE_TRANSCRIPTS", limit.StreamName} {
		n.expectNoAnswers(stream)
	}
}

// createStreams creates all streams.
func (n *deployedNATS) createStreams() {
	n.Helper()
	env := map[string]string{"CALLBOARD_NATS_URL": n.url("operator"), "CALLBOARD_NATS_INBOX": "_INBOX_operator"}
	succeed(n.T, env, "", "stream", "create")
}

func (n *deployedNATS) jetStream(user string) jetstream.JetStream {
	n.Helper()
	js, err := jetstream.New(n.connect(user), jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		n.Fatal(err)
	}
	return js
}

// listen subscribes to what each user of account APP gets, and to what wakes senders.
func (n *deployedNATS) listen() map[string]*nats.Subscription {
	n.Helper()
	listeners := map[string]*nats.Subscription{}
	for user, subject := range map[string]string{
		"projector": "_INBOX_projector.>", "operator": "_INBOX_operator.>", "owner": "_INBOX_owner.>", "webhooks": webhook.WakeSubject,
	} {
		conn := n.connect(user)
		listener, err := conn.SubscribeSync(subject)
		if err == nil {
			err = conn.Flush()
		}
		if err != nil {
			n.Fatal(err)
		}
		listeners[user] = listener
	}
	return listeners
}

// expectNoAnswers checks that a stream has all messages, and that each is a request of a user who may publish it.
func (n *deployedNATS) expectNoAnswers(name string) {
	n.Helper()
	js := n.jetStream("owner")
	if name == limit.StreamName {
		js = n.jetStream("reader")
	}
	stream, err := js.Stream(n.Context(), name)
	if err != nil {
		n.Fatal(err)
	}
	state, found := stream.CachedInfo().State, uint64(0)
	for sequence := state.FirstSeq; sequence <= state.LastSeq; sequence++ {
		message, err := stream.GetMsg(n.Context(), sequence)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		} else if err != nil {
			n.Fatal(err)
		}
		found++
		subject := message.Subject
		if partition, ok := events.SubjectPartition(subject); ok {
			subject = strings.Replace(subject, strconv.Itoa(partition)+".", "", 1)
		}
		user := n.users()[string(message.Data)]
		if subject != "$O.PHONE_TRANSCRIPTS.M.answer" && (user == nil || !matchesAny(subject, user.Publish.Allow)) {
			n.Errorf("stream %s has %q on %s, want no answer", name, message.Data, message.Subject)
		}
	}
	if found == 0 || stream.CachedInfo().Config.MaxMsgsPerSubject < 1 && found != state.LastSeq {
		n.Errorf("messages of stream %s = %d of %d, want all of at least one", name, found, state.LastSeq)
	}
}

// A reader may create the budgets' stream, because NATS keeps it in memory. In the readers' account there is
// nothing else to copy or to replace, and the stream takes no disk.
func TestNATSConf_ReadersStream(t *testing.T) {
	t.Parallel()
	n := newDeployedNATS(t)
	succeed(t, map[string]string{"CALLBOARD_NATS_URL": n.url("operator"), "CALLBOARD_NATS_INBOX": "_INBOX_operator"}, "", "stream", "create")
	if err := n.jetStream("owner").DeleteStream(t.Context(), limit.StreamName); err != nil {
		t.Fatal(err)
	}
	reader, config := n.jetStream("reader"), limit.StreamConfig(1)
	config.Storage = jetstream.FileStorage
	if _, err := reader.CreateStream(t.Context(), config); err == nil {
		t.Error("a stream in files: created, want an error")
	}
	config.Storage, config.RePublish = jetstream.MemoryStorage, &jetstream.RePublish{Source: "callboard.limits.*", Destination: "callboard.keys.{{wildcard(1)}}"}
	config.Sources = []*jetstream.StreamSource{{Name: events.KeyStream}}
	if _, err := n.jetStream("keys").Publish(t.Context(), "callboard.keys.y", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Publish(t.Context(), "callboard.limits.x", nil); err != nil {
		t.Fatal(err)
	}
	for name, js := range map[string]jetstream.JetStream{limit.StreamName: reader, events.KeyStream: n.jetStream("owner")} {
		stream, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := stream.CachedInfo().State.Msgs; got != 1 {
			t.Errorf("messages of stream %s = %d, want 1", name, got)
		}
	}
}
