package connection_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"callboard/cmd/connection"
	"callboard/cmd/setting"
	"callboard/events/eventstest"
)

func natsURL(tb testing.TB, text string) setting.URL {
	tb.Helper()
	url, err := setting.NewNATSURL(text)
	if err != nil {
		tb.Fatal(err)
	}
	return url
}

func TestNewNATS(t *testing.T) {
	s := eventstest.NewServer(t)
	n, err := connection.NewNATS(connection.NATSConfig{URL: natsURL(t, s.URL()), Name: "test", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Err(); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := n.JetStream.AccountInfo(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
	n.Close()
	if n.Err() == nil {
		t.Error("usable after its end")
	}
}

func TestNewNATS_Absent(t *testing.T) {
	const nobody = "nats://me:hunter2@127.0.0.1:1"
	_, err := connection.NewNATS(connection.NATSConfig{URL: natsURL(t, nobody), Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), "NATS at nats://127.0.0.1:1") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	patient, err := connection.NewNATS(connection.NATSConfig{URL: natsURL(t, nobody), Patient: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if patient.Err() == nil {
		t.Error("connected to nobody")
	}
	patient.Close()
}

// A server that is away for longer than the library's own patience of sixty tries is found again.
func TestNewNATS_ServerComesBack(t *testing.T) {
	var log strings.Builder
	s := eventstest.NewServer(t, func(o *server.Options) { o.Authorization = "hunter2" })
	url := natsURL(t, strings.Replace(s.URL(), "nats://", "nats://hunter2@", 1))
	n, err := connection.NewNATS(connection.NATSConfig{URL: url, Log: zerolog.New(zerolog.SyncWriter(&log))})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	eventually(t, func() bool { return n.Err() != nil })
	s.Start()
	eventually(t, func() bool { return n.Err() == nil })
	n.Close()
	if !strings.Contains(log.String(), "reconnected to nats") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("%s", &log)
	}
}

// eventually polls until a condition holds.
func eventually(tb testing.TB, holds func() bool) {
	tb.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			tb.Fatal("it never came true")
		case <-tick.C:
		}
	}
}
