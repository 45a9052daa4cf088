package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

func stream() store.Stream {
	return store.Stream{Name: "PHONES", Created: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)}
}

// open is a store on a database of its own, under the projector's role.
func open(tb testing.TB) (*store.Store, *schematest.Database, *pgxpool.Pool) {
	tb.Helper()
	database := schematest.New(tb)
	config, err := pgxpool.ParseConfig(database.RoleURL("callboard_projector"))
	if err != nil {
		tb.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = "projection"
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return store.New(pool), database, pool
}

type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// commit folds a batch and commits it behind from.
func commit(t failer, s *store.Store, from store.Position, batch []foldtest.TimedEvent) store.Position {
	t.Helper()
	to := from
	to.Sequence += uint64(len(batch))
	err := s.BeginFunc(context.Background(), func(tx *store.Tx) error {
		list := make([]events.Event, len(batch))
		for i, e := range batch {
			list[i] = e.Event
		}
		state, err := tx.Load(context.Background(), from.Partition, list)
		if err != nil {
			return err
		}
		for _, e := range batch {
			// What contradicts is a dead letter, which is the projector's to keep.
			_, _ = state.Fold(e.Event, e.At)
		}
		return tx.Write(context.Background(), store.ChangeSet{From: from, To: to, State: state})
	})
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return to
}

// However a history is cut into batches, the tables hold what one fold over all of it gives.
func TestStore_AnyBatchingGivesTheSameTables(t *testing.T) {
	batched, batchedTables, _ := open(t)
	whole, wholeTables, _ := open(t)
	rapid.Check(t, func(r *rapid.T) {
		batchedTables.TruncateProjection(t)
		wholeTables.TruncateProjection(t)
		history := foldtest.RandomHistory(r)

		position, err := batched.Claim(context.Background(), stream(), 3)
		if err != nil {
			r.Fatal(err)
		}
		for rest := history; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "batch")
			position = commit(r, batched, position, rest[:n])
			rest = rest[n:]
		}
		if position, err = whole.Claim(context.Background(), stream(), 3); err != nil {
			r.Fatal(err)
		}
		commit(r, whole, position, history)

		if list := batchedTables.Projection(t).Diff(wholeTables.Projection(t)); len(list) > 0 {
			r.Fatalf("batched (here) and whole (there) differ:\n%s", strings.Join(list, "\n"))
		}
	})
}

func TestStore_EveryFieldComesBack(t *testing.T) {
	s, database, _ := open(t)
	position, err := s.Claim(t.Context(), stream(), 3)
	if err != nil {
		t.Fatal(err)
	}
	full := foldtest.FullHistory()
	position = commit(t, s, position, full)
	before := database.Projection(t)
	// A batch that touches every row and changes none writes nothing that it couldn't read.
	for i := range full {
		full[i].At += 1000
	}
	commit(t, s, position, full)
	if list := before.Diff(database.Projection(t)); len(list) > 0 {
		t.Errorf("changed:\n%s", strings.Join(list, "\n"))
	}
	err = s.BeginFunc(t.Context(), func(tx *store.Tx) error {
		list := make([]events.Event, len(full))
		for i, e := range full {
			list[i] = e.Event
		}
		loaded, err := tx.Load(t.Context(), 3, list)
		if err != nil {
			return err
		}
		mustHold(t, loaded, full)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mustHold checks that folding the newest events anew over what was loaded gives rows equal to those loaded.
func mustHold(t *testing.T, loaded *fold.State, full []foldtest.TimedEvent) {
	t.Helper()
	fresh := new(fold.State)
	fresh.Partition = 3
	for _, e := range full {
		if _, err := fresh.Fold(e.Event, e.At-1000); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "phone_system", &fresh.PhoneSystems, loaded.PhoneSystems.Get, func(r fold.PhoneSystem) fold.Key {
		return fold.Key{System: r.ID, ID: r.ID}
	})
	same(t, "phone_system_group", &fresh.Groups, loaded.Groups.Get, func(r fold.Group) fold.Key { return fold.Key{ID: r.ID} })
	same(t, "extension", &fresh.Extensions, loaded.Extensions.Get, func(r fold.Extension) fold.Key { return r.Key })
	same(t, "call_group", &fresh.CallGroups, loaded.CallGroups.Get, func(r fold.CallGroup) fold.Key { return r.Key })
	same(t, "call_log", &fresh.CallLogs, loaded.CallLogs.Get, func(r fold.CallLog) fold.Key { return r.Key })
	same(t, "transcript", &fresh.Transcripts, loaded.Transcripts.Get, func(r fold.Transcript) fold.OwnerRowKey { return r.OwnerRowKey })
	same(t, "recording", &fresh.Recordings, loaded.Recordings.Get, func(r fold.Recording) fold.RecordingKey { return r.RecordingKey })
	same(t, "phone", &fresh.Phones, loaded.Phones.Get, func(r fold.Phone) fold.Key { return r.Key })
	same(t, "phone_number", &fresh.PhoneNumbers, loaded.PhoneNumbers.Get, func(r fold.PhoneNumber) fold.Key { return r.Key })
	same(t, "agent_config", &fresh.AgentConfigs, loaded.AgentConfigs.Get, func(r fold.AgentConfig) fold.Key { return r.Key })
	same(t, "call_menu", &fresh.CallMenus, loaded.CallMenus.Get, func(r fold.CallMenu) fold.Key { return r.Key })
	same(t, "representative", &fresh.Representatives, loaded.Representatives.Get, func(r fold.Representative) fold.Key { return r.Key })
	same(t, "classification", &fresh.Classifications, loaded.Classifications.Get,
		func(r fold.Classification) fold.ClassificationKey { return r.ClassificationKey })
	same(t, "analysis", &fresh.Analyses, loaded.Analyses.Get, func(r fold.Analysis) fold.Key { return r.Key })
	same(t, "voicemail", &fresh.Voicemails, loaded.Voicemails.Get, func(r fold.Voicemail) fold.Key { return r.Key })
	same(t, "tombstone", &fresh.Tombstones, loaded.Tombstones.Get, func(r fold.Tombstone) fold.TombstoneKey { return r.TombstoneKey })
}

func same[K, R comparable](t *testing.T, table string, fresh *fold.Table[K, R], loaded func(K) (R, bool), key func(R) K) {
	t.Helper()
	rows, _ := fresh.Changes()
	if len(rows) == 0 {
		t.Errorf("%s: the test has no row of it", table)
	}
	for _, want := range rows {
		if got, ok := loaded(key(want)); !ok || got != want {
			t.Errorf("%s: loaded\n%+v, want\n%+v", table, got, want)
		}
	}
}

func TestStore_Fences(t *testing.T) {
	s, _, _ := open(t)
	first, err := s.Claim(t.Context(), stream(), 3)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Claim(t.Context(), stream(), 3)
	if err != nil {
		t.Fatal(err)
	}
	next := first
	next.Sequence = 7
	if err := s.Advance(t.Context(), first, next); !errors.Is(err, store.ErrFenced) {
		t.Errorf("an older epoch: %v, want ErrFenced", err)
	}
	moved := second
	moved.Sequence = 7
	if err := s.Advance(t.Context(), second, moved); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(t.Context(), second, moved); !errors.Is(err, store.ErrFenced) {
		t.Errorf("an older position: %v, want ErrFenced", err)
	}
	if err := s.Advance(t.Context(), moved, second); !errors.Is(err, store.ErrFenced) {
		t.Errorf("backwards: %v, want ErrFenced", err)
	}
	older := moved
	older.RetrySeq--
	if err := s.Advance(t.Context(), older, moved); !errors.Is(err, store.ErrFenced) {
		t.Errorf("an older turn: %v, want ErrFenced", err)
	}
	other := stream()
	other.Created = other.Created.Add(time.Second)
	if _, err := s.Claim(t.Context(), other, 3); !errors.Is(err, store.ErrStreamReplaced) {
		t.Errorf("another stream: %v, want ErrIdentity", err)
	}
}

func TestStore_LiftsAndDeadLettersOutliveTheProjection(t *testing.T) {
	s, _, pool := open(t)
	from, err := s.Claim(t.Context(), stream(), 3)
	if err != nil {
		t.Fatal(err)
	}
	to := from
	to.Sequence = 9
	stored := time.Now()
	err = s.BeginFunc(t.Context(), func(tx *store.Tx) error {
		return tx.Write(t.Context(), store.ChangeSet{
			From: from, To: to, State: new(fold.State),
			ClockAdjustments: []fold.ClockAdjustment{{Sequence: 8, Time: 1234567}},
			DeadLetters: []store.DeadLetter{{
				Sequence: 9, Subject: "phones.3.x.y", Header: []byte("h"), Data: []byte{0, 0xff}, Reason: "no JSON", StoredAt: stored,
			}},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []events.Time{1234568, 1234566} { // the stream has lost the message, and has given its sequence again
		err := s.BeginFunc(t.Context(), func(tx *store.Tx) error {
			return tx.Write(t.Context(), store.ChangeSet{From: to, To: to, State: new(fold.State), ClockAdjustments: []fold.ClockAdjustment{{Sequence: 8, Time: at}}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	record, err := s.Decisions(t.Context(), from)
	letter := record.DeadLetters[store.NewMessageID(9, stored)]
	if err != nil || len(record.ClockAdjustments) != 1 || record.ClockAdjustments[8] != 1234568 || letter == nil || letter.Reason != "no JSON" {
		t.Errorf("record %v %v", record, err)
	}
	if record, err := s.Decisions(t.Context(), to); err != nil || len(record.ClockAdjustments)+len(record.DeadLetters) != 0 {
		t.Errorf("a record above the position: %v %v, want none", record, err)
	}
	var data []byte
	if err := pool.QueryRow(t.Context(), "select data from control.dead_letter where sequence = 9").Scan(&data); err != nil || len(data) != 2 {
		t.Errorf("dead letter %v %v, want its 2 bytes", data, err)
	}
}
