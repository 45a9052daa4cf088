package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/audit"
	"callboard/events/journal"
	"callboard/events/webhook"
	"callboard/readapi/limit"
)

// TestNATSConf_Denied tries everything that a user may not do: what only others may publish, what nobody may do to a stream, others'
// replies and what the streams hold.
func TestNATSConf_Denied(t *testing.T) {
	t.Parallel()
	n := newDeployedNATS(t)
	users := n.users()
	for user, permissions := range users {
		conn := n.connect(user, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default prints them
		want := map[denial]bool{}
		for _, subject := range forbiddenPublications(users, user) {
			want[denial{user, publishing, subject}] = true
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

// forbiddenPublications returns subjects on which the user may not publish. Only the first ones depend on the lists: an entry that is too
// wide does not make the others allowed.
func forbiddenPublications(users map[string]*server.Permissions, user string) []string {
	subjects := forbiddenToAll()
	if user != "owner" {
		subjects = append(subjects, ofStreams("STREAM.DELETE.", "STREAM.UPDATE.", "STREAM.RESTORE.")...)
	}
	for _, subject := range ofStreams("STREAM.PURGE.") {
		if user != "projector" || !strings.HasSuffix(subject, "."+audit.StreamName) {
			subjects = append(subjects, subject)
		}
	}
	for other, permissions := range users {
		for _, entry := range permissions.Publish.Allow {
			if subject := instance(entry); !matchesAny(subject, users[user].Publish.Allow) {
				subjects = append(subjects, subject)
			}
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
	return slices.Compact(subjects)
}

// forbiddenToAll returns what would lose or change stored messages, or read the server's state.
func forbiddenToAll() []string {
	subjects := []string{
		"phones.0." + systemID + ".call", // the stored form
		"_INBOX.x.1", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.APP.CONNZ", "$JS.API.ACCOUNT.PURGE.APP", "$JS.API.SERVER.REMOVE",
	}
	return append(subjects, ofStreams("STREAM.MSG.DELETE.", "STREAM.LEADER.STEPDOWN.", "STREAM.PEER.REMOVE.")...)
}

// ofStreams returns the subjects of requests to JetStream about each stream.
func ofStreams(requests ...string) []string {
	var subjects []string
	for _, stream := range []string{"PHONES", journal.StreamName, audit.StreamName, audit.QueueName, "OBJ_PHONE_TRANSCRIPTS", limit.StreamName} {
		for _, request := range requests {
			subjects = append(subjects, "$JS.API."+request+stream)
		}
	}
	return subjects
}

// forbiddenSubscriptions returns subjects to which the user may not subscribe.
func forbiddenSubscriptions(users map[string]*server.Permissions, user string) []string {
	subjects := []string{
		">", "*.>", "_INBOX.>", "phones.>", "phones.*.call", "callboard.audit", "callboard.audit.>", "callboard.limits.>", "callboard.>", "$O.>", "$JS.API.>", "$JS.ACK.>", "$SYS.>",
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

// A reader may create the budgets' stream, because NATS keeps it in memory. While it exists, it can't give it other settings, such as
// to republish its messages on others' subjects.
func TestNATSConf_ReadersCannotChangeStream(t *testing.T) {
	t.Parallel()
	n := newDeployedNATS(t)
	operator, err := jetstream.New(n.connect("operator"), jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	config := limit.StreamConfig(1)
	if _, err := events.EnsureStream(t.Context(), operator, config); err != nil {
		t.Fatal(err)
	}
	config.RePublish = &jetstream.RePublish{Destination: "phones.global.group"}
	request, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := n.connect("reader").RequestWithContext(t.Context(), "$JS.API.STREAM.CREATE."+config.Name, request)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Error *jetstream.APIError }
	if err := json.Unmarshal(reply.Data, &answer); err != nil || answer.Error == nil {
		t.Errorf("answer = %s, %v, want an error", reply.Data, err)
	}
}
