package audit_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
	"callboard/events/eventstest"
)

// Whatever the server does meanwhile, all that many record is stored once, and what is recorded of one key is stored in order.
func TestRun_LosesNothingOverRestarts(t *testing.T) {
	s := newStage(t, 0)
	s.createStream()
	stop := s.start()
	const keys, each, restarts = 8, 1500, 3
	ids := make([]uuid.UUID, keys)
	var recording sync.WaitGroup
	turn := make([]chan struct{}, restarts) // closed at each restart, so that entries come before, during and after it
	for i := range turn {
		turn[i] = make(chan struct{})
	}
	for k := range ids {
		ids[k] = uuid.New()
		recording.Go(func() {
			for i := range each {
				if part := each / restarts; i%part == part/2 {
					<-turn[i/part]
				}
				s.record(audit.Entry{KeyID: ids[k], Operation: "listCallLogs", Status: 200, RequestID: strconv.Itoa(i)})
			}
		})
	}
	for i := range turn {
		s.await("an acknowledged entry", func() bool { return s.metric("acknowledged_total") > float64(i*keys*each/restarts) })
		s.server.Stop()
		close(turn[i])
		s.server.Start()
	}
	recording.Wait()
	s.await("all acknowledged", func() bool { return s.metric("acknowledged_total") == keys*each })
	if err := stop(); err != nil {
		t.Error(err)
	}
	next := make(map[uuid.UUID]int)
	stored := make(map[uuid.UUID]bool)
	for _, e := range s.entries() {
		if e.RequestID != strconv.Itoa(next[e.KeyID]) || stored[e.ID] {
			t.Fatalf("%s of key %s comes where %d is due", e.RequestID, e.KeyID, next[e.KeyID])
		}
		next[e.KeyID]++
		stored[e.ID] = true
	}
	if len(stored) != keys*each {
		t.Errorf("%d entries stored of %d", len(stored), keys*each)
	}
}

// A message whose acknowledgement got lost is sent again under its ID, which the stream has, and that counts.
func TestRun_RetryIsStoredOnce(t *testing.T) {
	s := newStage(t, 0)
	s.createStream()
	sent := entry()
	sent.ID, sent.At = uuid.New(), time.Now()
	message, err := audit.Encode([]audit.Entry{sent})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.js.Publish(t.Context(), audit.Subject, message, jetstream.WithMsgID(sent.ID.String())); err != nil {
		t.Fatal(err)
	}
	s.record(sent)
	if err := s.start()(); err != nil {
		t.Fatal(err)
	}
	if got := s.entries(); len(got) != 1 || s.metric("acknowledged_total") != 1 {
		t.Errorf("stored: %v", got)
	}
}

// The end waits for requests under way, lets no more in, and publishes everything.
func TestRun_EndFlushes(t *testing.T) {
	s := newStage(t, 0)
	s.createStream()
	const queued = 3*audit.MaxEntries + 1
	for range queued {
		s.record(entry())
	}
	s.reserve()
	stop := s.start()
	ended := make(chan error)
	go func() { ended <- stop() }()
	s.await("the end is asked for", s.journal.Full)
	s.journal.Record(entry())
	if err := <-ended; err != nil {
		t.Error(err)
	}
	messages := s.messages()
	if len(s.entries()) != queued+1 || len(messages[0]) != audit.MaxEntries {
		t.Errorf("%d entries in %d messages", len(s.entries()), len(messages))
	}
}

// The end without a server says how many entries are lost, and why: those recorded, and those of requests under way.
func TestRun_EndTellsLosses(t *testing.T) {
	s := newStage(t, 0)
	s.createStream()
	s.server.Stop()
	for range 3 {
		s.record(entry())
	}
	s.reserve()
	if err := s.start()(); err == nil || !strings.Contains(err.Error(), "4 audit entries are lost: NATS: RECONNECTING") {
		t.Error(err)
	}
	if !s.journal.Full() {
		t.Error("a journal that ended takes entries")
	}
}

// A request that never ends is told of, too.
func TestRun_EndTellsUnfilledPlaces(t *testing.T) {
	s := newStage(t, 0)
	s.reserve()
	if err := s.start()(); err == nil || !strings.Contains(err.Error(), "1 audit entries are lost: not recorded in time") {
		t.Error(err)
	}
}

// A missing stream is logged once, with the remedy, and so is its return.
func TestRun_WithoutStream(t *testing.T) {
	s := newStage(t, 0)
	stop := s.start()
	s.record(entry())
	s.await("a remedy", func() bool { return s.log.count("callboard stream create") > 0 })
	sent := s.js.Conn().Stats().OutMsgs
	s.await("more attempts", func() bool { return s.js.Conn().Stats().OutMsgs >= sent+3 })
	s.record(entry())
	s.createStream()
	s.await("all acknowledged", func() bool { return s.metric("acknowledged_total") == 2 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	if down, up := s.log.count("can't be published"), s.log.count("published again"); down != 1 || up != 1 {
		t.Errorf("%d and %d lines:\n%s", down, up, s.log.text.String())
	}
}

// Each way of failing is logged, so that the remedy is, whatever failed before.
func TestRun_WithoutStreamAfterOutage(t *testing.T) {
	s := newStage(t, 0)
	s.server.Stop()
	s.await("an outage", func() bool { return !s.js.Conn().IsConnected() })
	s.record(entry())
	stop := s.start()
	s.await("a word", func() bool { return s.log.count("NATS: RECONNECTING") > 0 })
	s.server.Start()
	s.await("the remedy", func() bool { return s.log.count("callboard stream create") > 0 })
	s.createStream()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if again := s.log.count("published again"); again != 1 {
		t.Errorf("%d ends of one outage:\n%s", again, s.log.text.String())
	}
}

// Where the server takes small messages only, entries travel in smaller ones.
func TestRun_FitsMaxPayload(t *testing.T) {
	const limit = 4096
	s := newStage(t, 0, eventstest.MaxPayload(limit))
	s.createStream()
	for range 200 {
		s.record(entry())
	}
	if err := s.start()(); err != nil {
		t.Fatal(err)
	}
	if got := s.entries(); len(got) != 200 {
		t.Errorf("%d entries", len(got))
	}
	if n := len(s.messages()); n > 40 {
		t.Errorf("%d messages", n)
	}
}
