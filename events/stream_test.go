package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

func TestPartition_AgreesWithTheServer(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3, events.DefaultPartitions} {
		server := eventstest.NewServer(t)
		js := eventstest.JetStream(t, server.URL())
		stream := eventstest.CreateStream(t, js, partitions)
		systems := []uuid.UUID{uuid.Nil}
		for range 200 {
			systems = append(systems, uuid.New())
		}
		for i, system := range systems {
			subject := events.Subject(system, events.EntityClassification)
			ack, err := js.Publish(t.Context(), subject, nil)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := stream.GetMsg(t.Context(), ack.Sequence)
			if err != nil {
				t.Fatal(err)
			}
			prefix := strings.TrimSuffix(events.PartitionFilter(events.Partition(system, partitions)), ">")
			if want := prefix + strings.TrimPrefix(subject, "phones."); stored.Subject != want {
				t.Fatalf("%d partitions: stored subject of event %d = %s, want %s", partitions, i, stored.Subject, want)
			}
		}
	}
}

func TestPartitions_OfARunningStream(t *testing.T) {
	t.Parallel()
	server := eventstest.NewServer(t)
	js := eventstest.JetStream(t, server.URL())
	stream := eventstest.CreateStream(t, js, 7)
	config := stream.CachedInfo().Config
	if n, err := events.Partitions(config); n != 7 || err != nil {
		t.Errorf("partitions = %d, %v, want 7", n, err)
	}
	if faults := events.CheckStream(config); len(faults) != 0 {
		t.Errorf("faults of a new stream = %q, want none", faults)
	}
	mirror, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "COPY", Mirror: &jetstream.StreamSource{Name: events.StreamName},
		Discard: jetstream.DiscardNew, DenyDelete: true, DenyPurge: true, Metadata: config.Metadata,
	})
	if err != nil {
		t.Fatal(err)
	}
	if faults := events.CheckStream(mirror.CachedInfo().Config); len(faults) != 0 {
		t.Errorf("faults of a mirror = %q, want none", faults)
	}
}

func TestPartitions_RefusesOtherTransforms(t *testing.T) {
	good := events.StreamConfig("S", 5, 1).SubjectTransform.Destination
	for name, c := range map[string]struct{ source, destination string }{
		"by entity":               {"phones.*.*", strings.Replace(good, "(5,1)", "(5,2)", 1)},
		"by both":                 {"phones.*.*", strings.Replace(good, "(5,1)", "(5,1,2)", 1)},
		"no partition":            {"phones.*.*", "phones.{{wildcard(1)}}.{{wildcard(2)}}"},
		"zero partitions":         {"phones.*.*", strings.Replace(good, "(5,1)", "(0,1)", 1)},
		"tokens in another order": {"phones.*.*", "phones.{{partition(5,1)}}.{{wildcard(2)}}.{{wildcard(1)}}"},
		"of other subjects":       {"phones.*.call", good},
		"a longer destination":    {"phones.*.*", good + ".x"},
	} {
		cfg := events.StreamConfig("S", 5, 1)
		cfg.SubjectTransform = &jetstream.SubjectTransformConfig{Source: c.source, Destination: c.destination}
		if n, err := events.Partitions(cfg); err == nil {
			t.Errorf("%s: partitions = %d, want an error", name, n)
		}
	}
	cfg := events.StreamConfig("S", 5, 1)
	cfg.SubjectTransform.Destination = "phones.{{ Partition( 5, 1 ) }}.{{wildcard(1)}}.{{wildcard(2)}}"
	if n, err := events.Partitions(cfg); n != 5 || err != nil {
		t.Errorf("with spaces and capitals: partitions = %d, %v, want 5", n, err)
	}
}

func TestCheckStream(t *testing.T) {
	for want, change := range map[string]func(*jetstream.StreamConfig){
		"max_age":              func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"max_bytes":            func(c *jetstream.StreamConfig) { c.MaxBytes = 1 },
		"max_msgs ":            func(c *jetstream.StreamConfig) { c.MaxMsgs = 1 },
		"max_msgs_per_subject": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
		"max_msg_size":         func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 },
		"retention":            func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"storage":              func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"persist_mode":         func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode },
		"discard":              func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"deny_delete":          func(c *jetstream.StreamConfig) { c.DenyDelete = false },
		"deny_purge":           func(c *jetstream.StreamConfig) { c.DenyPurge = false },
		"allow_rollup":         func(c *jetstream.StreamConfig) { c.AllowRollup = true },
		"allow_direct":         func(c *jetstream.StreamConfig) { c.AllowDirect = true },
		"allow_msg_ttl":        func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true },
		"duplicate_window":     func(c *jetstream.StreamConfig) { c.Duplicates = time.Second },
		"no_ack":               func(c *jetstream.StreamConfig) { c.NoAck = true },
		"sealed":               func(c *jetstream.StreamConfig) { c.Sealed = true },
		"lacks the clock":      func(c *jetstream.StreamConfig) { c.Subjects = []string{"phones.*.*"} },
		"subjects is":          func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "more") },
		"no subject transform": func(c *jetstream.StreamConfig) { c.SubjectTransform = nil },
		"the subject transform": func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "phones.*.*", Destination: "phones.$1.$2"}
		},
		"no UUID": func(c *jetstream.StreamConfig) { c.Metadata = nil },
		"has no UUID": func(c *jetstream.StreamConfig) {
			c.Metadata["callboard.stream"] = "00000000-0000-0000-0000-000000000000"
		},
		"sources": func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{Name: "O"}} },
		"mirror starts late": func(c *jetstream.StreamConfig) {
			c.Subjects, c.SubjectTransform, c.Mirror = nil, nil, &jetstream.StreamSource{Name: "O", OptStartSeq: 7}
		},
		"mirror transforms": func(c *jetstream.StreamConfig) {
			c.Subjects, c.SubjectTransform = nil, nil
			c.Mirror = &jetstream.StreamSource{Name: "O", SubjectTransforms: []jetstream.SubjectTransformConfig{{}}}
		},
	} {
		cfg := events.StreamConfig(events.StreamName, 4, 1)
		change(&cfg)
		if faults := events.CheckStream(cfg); len(faults) != 1 || !strings.Contains(faults[0], want) {
			t.Errorf("faults = %q, want one that contains %q", faults, want)
		}
	}
}

// Streams of keys and of audit entries have these faults in common. Audit entries that were stored are purged.
func TestCheckStream_OfKeysAndAudit(t *testing.T) {
	for name, c := range map[string]struct {
		config jetstream.StreamConfig
		check  func(jetstream.StreamConfig) []string
		faults map[string]func(*jetstream.StreamConfig)
	}{
		"keys": {events.KeyStreamConfig(3), events.CheckKeyStream, map[string]func(*jetstream.StreamConfig){
			"be deleted": func(c *jetstream.StreamConfig) { c.DenyDelete = false },
			"be purged":  func(c *jetstream.StreamConfig) { c.DenyPurge = false },
			"limit":      func(c *jetstream.StreamConfig) { c.MaxBytes = 1 },
		}},
		"audit": {events.AuditStreamConfig(1), events.CheckAuditStream, map[string]func(*jetstream.StreamConfig){
			"drops old messages":   func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1000, jetstream.DiscardOld },
			"denies purges":        func(c *jetstream.StreamConfig) { c.DenyPurge = true },
			"no limit of its size": func(c *jetstream.StreamConfig) { c.MaxBytes = -1 },
		}},
	} {
		if faults := c.check(c.config); len(faults) > 0 {
			t.Errorf("%s: faults = %q, want none", name, faults)
		}
		c.faults["in files"] = func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }
		c.faults["1h"] = func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }
		c.faults["messages"] = func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }
		c.faults["acknowledge"] = func(c *jetstream.StreamConfig) { c.NoAck = true }
		for want, change := range c.faults {
			config := c.config
			change(&config)
			if faults := c.check(config); len(faults) != 1 || !strings.Contains(faults[0], want) {
				t.Errorf("%s: faults = %q, want one that contains %q", name, faults, want)
			}
		}
	}
}
