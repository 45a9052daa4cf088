package status_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"callboard/projector"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
	"callboard/projector/status"
	"callboard/schema/schematest"
)

func TestRead(t *testing.T) {
	h := newHarness(t)
	h.publishVersions(0, 3) // sequences 1 to 3
	h.publishVersions(1, 4) // 4 to 7
	h.publishVersions(0, 2) // 8 and 9
	h.insertPosition(0, 2)  // 3, 8 and 9 are not applied
	h.insertPosition(1, 7)  // all are applied
	h.insertPosition(2, 9)  // no messages
	report := h.read()      // partition 3 has no position
	type numbers struct{ head, position, lag uint64 }
	want := []numbers{{9, 2, 3}, {7, 7, 0}, {0, 9, 0}, {0, 0, 0}}
	for i, p := range report.Partitions {
		if got := (numbers{p.Head, p.Position, p.LagEvents}); got != want[i] || p.Partition != i {
			t.Errorf("partition %d: head, position, lag = %v, want %v", i, got, want[i])
		}
		if (p.LagSeconds > 0) != (p.LagEvents > 0) || p.Owner != nil || p.StopReason != "" || (p.Watermark == nil) != (i == 3) {
			t.Errorf("partition %d = %+v, want a lag in seconds with a lag, a watermark with a position, no owner", i, p)
		}
	}
	if report.Lag() != 3 || report.Messages != 9 || report.DeadLetters != 0 || report.Generation == nil {
		t.Errorf("report = %+v, want lag 3, 9 messages, no dead letters, a generation", report)
	}
	h.requireNoConsumer()
}

func TestRead_PartitionWithoutPosition(t *testing.T) {
	h := newHarness(t)
	h.publishVersions(2, 5)
	if p := h.read().Partitions[2]; p.LagEvents != 5 || p.Position != 0 || p.Head != 5 {
		t.Errorf("partition = %+v, want lag 5, position 0, head 5", p)
	}
}

func TestRead_Owner(t *testing.T) {
	h := newHarness(t)
	conn, err := h.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	const locks = "set application_name = 'projector@here/7'; select pg_advisory_lock(%d, 3); select pg_advisory_lock(%d, 2); select pg_advisory_lock(3)"
	schematest.Exec(t, conn, fmt.Sprintf(locks, projector.LockClass, projector.LockClass+1))
	for i, p := range h.read().Partitions {
		if owned := p.Owner != nil && *p.Owner == "projector@here/7"; owned != (i == 3) {
			t.Errorf("partition %d = %+v, want only partition 3 owned", i, p)
		}
	}
	if _, err := conn.Exec(context.WithoutCancel(t.Context()), "select pg_advisory_unlock_all()"); err != nil {
		t.Error(err)
	}
}

func TestRead_StoppedPartitions(t *testing.T) {
	h := newHarness(t)
	h.publishVersions(0, 1)
	h.insertPosition(0, 1)
	h.Exec("update projection.position set stream = gen_random_uuid()")
	h.insertPosition(1, 8)
	h.insertPosition(2, 1)
	h.Exec("update projection.position set last_message = 1, last_message_at = now() - interval '1 day' where partition = 2")
	report := h.read()
	want := map[int]string{0: ingest.StreamIdentityChanged, 1: ingest.StreamRegressed, 2: ingest.StreamRegressed}
	for i, p := range report.Partitions {
		if p.StopReason != want[i] || (p.StopDetail != "") != (want[i] != "") {
			t.Errorf("partition %d: stop reason = %q, detail = %q, want %q", i, p.StopReason, p.StopDetail, want[i])
		}
	}
	if list := report.Problems(); len(list) != 3 || !strings.HasPrefix(list[2], "partition 2 is stopped: STREAM_REGRESSED: ") {
		t.Errorf("problems = %q, want one per stopped partition", list)
	}
}

// A partition stops if replicas may answer for the stream, and if the number of partitions has changed.
func TestRead_StoppedByStreamSettings(t *testing.T) {
	for reason, change := range map[string]func(*harness){
		ingest.StreamDirect: func(h *harness) { h.SetAllowDirect(true) },
		ingest.StreamRepartitioned: func(h *harness) {
			h.Exec("insert into control.stream values ($1, $2)", h.StreamID(), projectortest.Partitions-1)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			h := newHarness(t)
			h.publishVersions(0, 1)
			h.insertPosition(0, 1)
			change(h)
			if list := h.read().Problems(); len(list) != 1 || !strings.HasPrefix(list[0], "partition 0 is stopped: "+reason+": ") {
				t.Errorf("problems = %q, want partition 0 stopped with %s", list, reason)
			}
		})
	}
}

func TestRead_NotMigrated(t *testing.T) {
	h := newHarness(t)
	h.Exec("update control.migration set version_id = version_id - 1")
	if list := h.read().Problems(); len(list) != 1 || !strings.Contains(list[0], ingest.MigrationMissing+": ") || !strings.Contains(list[0], "'callboard migrate'") {
		t.Errorf("problems = %q, want %s and the command", list, ingest.MigrationMissing)
	}
}

// Where the stream can't be read, the report has what the tables say, and the reason.
func TestRead_NoStream(t *testing.T) {
	h := newHarnessWithEvents(t)
	h.insertMessageCount(0, "call", [5]int64{4, 4, 0, 0, 0})
	other, unreachable := h.source(), h.source()
	other.Stream = "OTHER"
	unreachable.JetStream, unreachable.NATSError = nil, errors.New("connection refused")
	for want, source := range map[string]status.Source{"OTHER": other, "NATS can't be reached: connection refused": unreachable} {
		report := h.readFrom(source)
		problems := report.Problems()
		if len(problems) != 1 || !strings.Contains(problems[0], want) || report.Balanced {
			t.Errorf("balanced = %t, problems = %q, want false and only %q", report.Balanced, problems, want)
		}
		if len(report.Partitions) != 1 || report.Partitions[0].Position != 8 || *report.Partitions[0].Read != 4 || len(report.MessageCounts) != 1 {
			t.Errorf("partitions = %+v, message counts = %v, want position 8 and 4 messages", report.Partitions, report.MessageCounts)
		}
	}
}

func TestMinPosition(t *testing.T) {
	h := newHarness(t)
	check := func(what string, want uint64, wantErr error) {
		t.Helper()
		got, err := status.MinPosition(t.Context(), h.operator, h.Stream.CachedInfo())
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: position = %d, error = %v, want %d, %v", what, got, err, want, wantErr)
		}
	}
	for partition := range 3 {
		h.insertPosition(partition, int64(5+partition))
	}
	check("partition 3 has no position", 0, nil)
	h.insertPosition(3, 9)
	check("all partitions have positions", 5, nil)
	h.Exec("update projection.position set stream = gen_random_uuid() where partition = 3")
	check("a position of another stream", 0, status.ErrOtherStream)
}

func TestReport_SetRate(t *testing.T) {
	twoAndAHalf := 2.5
	report := func(second int, messages, lag uint64) status.Report {
		return status.Report{
			Time: time.Date(2026, 3, 1, 9, 0, second, 0, time.UTC), Messages: messages,
			Partitions: []status.Partition{{LagEvents: lag}},
		}
	}
	for name, c := range map[string]struct {
		before, after status.Report
		rate          float64
		eta           *float64
	}{
		"lag falls":        {report(0, 100, 80), report(2, 110, 50), 20, &twoAndAHalf},
		"no lag":           {report(0, 100, 0), report(2, 100, 0), 0, nil},
		"lag rises":        {report(0, 100, 50), report(2, 110, 60), 0, nil},
		"caught up":        {report(0, 100, 50), report(2, 100, 0), 25, nil},
		"position lowered": {report(0, 100, 0), report(2, 100, 100), -50, nil},
	} {
		t.Run(name, func(t *testing.T) {
			after := c.after
			after.SetRate(c.before)
			seconds := after.ETASeconds
			if *after.Rate != c.rate || (seconds == nil) != (c.eta == nil) || seconds != nil && *seconds != *c.eta {
				t.Errorf("rate = %v, eta = %v, want %v and %v", *after.Rate, seconds, c.rate, c.eta)
			}
		})
	}
}
