package main

import (
	"testing"
	"time"

	"callboard/projector/status"
)

func pointer[T any](v T) *T { return &v }

// unwell is a report in which nothing is as it should be.
func problemReport() status.Report {
	started := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	counts := []status.MessageCount{
		{Entity: "phone-system", Read: 2, Applied: 2},
		{Entity: "call", Read: 110, Applied: 100, Stale: 5, Conflicting: 2, Ignored: 1, Dead: 3},
	}
	return status.Report{
		Migrated: true, Stream: "PHONES", Messages: 200, ClockAgeSeconds: pointer(0.5), Rate: pointer(24.0), ETASeconds: pointer(2.5), Generation: pointer[int64](3),
		DeadLetters: 3, DeadLettersRetrying: 1, Server: status.Server{Timeline: pointer[int64](5)},
		DeadLetterReasons: []status.Reason{{Reason: "/data/id: not a UUID", Count: 2}, {Reason: "a\x1b[2Jb", Count: 1}},
		Generations: []status.Generation{
			{ID: 4, State: status.Building, StartedAt: started, Current: true},
			{ID: 3, State: status.Live, StartedAt: started, SwitchedAt: &started},
			{ID: 2, State: "previous", StartedAt: started, SwitchedAt: &started},
		},
		MessageCounts: counts,
		Partitions: []status.Partition{
			{
				Partition: 0, Head: 199, Position: 120, LagEvents: 60, LagSeconds: 1.25, Watermark: &started, Owner: pointer("projector@here/7"),
				Messages: pointer[int64](115), Read: pointer[int64](112), Missing: 3, MessageCounts: counts,
			},
			{Partition: 1, Position: 300, Watermark: &started, StopReason: "STREAM_REGRESSED", StopDetail: "the stream lost its end; restore it, or run 'callboard rebuild'"},
		},
	}
}

const problemReportText = `partition  head  lagEvents  lagSeconds  position  messages  read  watermark             owner             node  stopReason
0          199   60         1.25        120       115       112   2026-03-01T09:00:00Z  projector@here/7  -     -
1          0     0          0           300       -         -     2026-03-01T09:00:00Z  -                 -     STREAM_REGRESSED

entity        read  applied  stale  conflicting  ignored  dead
phone-system  2     2        0      0            0        0
call          110   100      5      2            1        3
total         112   102      5      2            1        3

id  state     startedAt             switchedAt            current
4   building  2026-03-01T09:00:00Z  -                     true
3   live      2026-03-01T09:00:00Z  2026-03-01T09:00:00Z  false
2   previous  2026-03-01T09:00:00Z  2026-03-01T09:00:00Z  false
dead letters: 2 × /data/id: not a UUID
dead letters: 1 × "a\x1b[2Jb"

PostgreSQL: timeline 5; synchronous standbys: none: after a failover, keys that were revoked in its last moments work for some seconds
stream PHONES: 200 events, at least 60 not applied; open dead letters: 3 (1 waiting for a retry); live generation: 3; 24 events/s; caught up in 3s

PROBLEM: partition 0: 3 messages up to the position are missing in the message accounting: run 'callboard rebuild'
PROBLEM: partition 0, call: the message accounting does not add up: read = 110, applied + stale + ignored + dead = 109: run 'callboard rebuild'
PROBLEM: partition 1 is stopped: STREAM_REGRESSED: the stream lost its end; restore it, or run 'callboard rebuild'
PROBLEM: generation 3 is live and was built by another release: run 'callboard rebuild'
`

func TestStatus_Text(t *testing.T) {
	if out := asText(statusLines(problemReport())); out != problemReportText {
		t.Errorf("output =\n%s\nwant\n%s", out, problemReportText)
	}
}
