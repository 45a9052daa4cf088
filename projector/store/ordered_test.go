package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// firstRows returns the first row of each table that has one of phone system 1, or of no system.
func firstRows(t failer, state *fold.State, c store.Catalog) map[string]store.Row {
	t.Helper()
	rows := make(map[string]store.Row)
	for row, err := range foldedRows(state, c) {
		if err != nil {
			t.Fatal(err)
		}
		if _, known := rows[row.Table]; known || row.System != uuid.Nil && row.System != foldtest.ID(1) {
			continue
		}
		row.Fields = slices.Clone(row.Fields)
		for i, field := range row.Fields {
			row.Fields[i] = slices.Clone(field)
		}
		rows[row.Table] = row
	}
	return rows
}

// explainScans returns the plans of statements with arguments in PostgreSQL's binary format, as they are made in a snapshot.
func explainScans(t *testing.T, conn *pgx.Conn, statements map[string][][]byte) map[string]string {
	t.Helper()
	plans := make(map[string]string)
	err := pgx.BeginTxFunc(t.Context(), conn, store.SnapshotOptions(), func(pgx.Tx) error {
		for sql, arguments := range statements {
			result := conn.PgConn().ExecParams(t.Context(), "explain "+sql, arguments, nil, []int16{pgx.BinaryFormatCode}, nil).Read()
			if result.Err != nil {
				return fmt.Errorf("%s: %w", sql, result.Err)
			}
			for _, line := range result.Rows {
				plans[sql] += string(line[0]) + "\n"
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

// The rows of a table are read from its primary key, whatever the planner takes the table for: nothing is sorted or kept in memory.
func TestStoredRows_SortNothing(t *testing.T) {
	schematest.NeedOneServer(t, "its plans are one server's")
	t.Parallel()
	for name, prepare := range map[string]func(*schematest.Database){
		"empty":           func(*schematest.Database) {},
		"hash partitions": func(d *schematest.Database) { d.PartitionByHash(t) },
		"many rows, analyzed": func(d *schematest.Database) {
			copyState(t, connect(t, d, "projection"), foldedCompany(2, 5000))
			exec(t, d, "analyze")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := schematest.New(t)
			prepare(database)
			exec(t, database, "update projection.generation set partitions = 4")
			conn := connect(t, database, "projection")
			c := readCatalog(t, conn, "projection")
			rows := firstRows(t, folded(foldtest.FullHistory()), c)
			if len(rows) != len(store.Tables()) {
				t.Fatalf("tables with rows = %d, want all %d", len(rows), len(store.Tables()))
			}
			for _, statements := range []map[string][][]byte{store.Scans(c, rows), store.ScansOfSystem(c, rows)} {
				for sql, plan := range explainScans(t, conn, statements) {
					if strings.Contains(plan, "Sort  (") || strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "_pkey") {
						t.Errorf("%s:\n%s\nwant a scan of the primary key in its order", sql, plan)
					}
				}
			}
		})
	}
}

// PostgreSQL orders rows like CompareKey, whatever the values are, and whatever collation an earlier release's tables have.
func TestStoredRows_OrderOfKeys(t *testing.T) {
	t.Parallel()
	for name, collation := range map[string]string{"this release's": "C", "another release's": "en-x-icu"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := schematest.New(t)
			for _, column := range []string{
				"tombstone.entity", "tombstone.key", "classification.kind", "classification.code", "reference_count.family", "reference_count.key",
				"day_count.list", "day_count.subset", "transcript.owner", "recording.recording_sid",
			} {
				table, name, _ := strings.Cut(column, ".")
				exec(t, database, fmt.Sprintf(`alter table projection.%s alter column %s type text collate "%s"`, table, name, collation))
			}
			conn := connect(t, database, "projection")
			rapid.Check(t, func(r *rapid.T) { checkOrder(r, conn, drawState(r)) })
		})
	}
}

// drawState draws rows of those tables whose keys are not of identifiers alone.
func drawState(r *rapid.T) *fold.State {
	text := rapid.OneOf(
		rapid.StringMatching(`[abAB _.-]{0,3}`), rapid.StringOfN(rapid.RuneFrom([]rune("aéÉßzZ\uffff𝄞\x01")), 0, 3, -1), rapid.Just(strings.Repeat("y", 300)),
	)
	id := rapid.SampledFrom([]uuid.UUID{{}, {0: 1}, {0: 0x80}, {15: 1}, {15: 0xff}, uuid.Max})
	// PostgreSQL counts from 2000; time.Time's years have four digits.
	at := rapid.Custom(func(r *rapid.T) events.Time {
		return events.Time(rapid.OneOf(rapid.Int64Range(946_684_799_990, 946_684_800_010), rapid.Int64Range(-62_135_596_800_000, 253_402_300_799_999)).Draw(r, "ms"))
	})
	state := &fold.State{Partition: 3, Counts: fold.Deltas[fold.CountKey]{}, References: fold.Deltas[fold.ReferenceKey]{}}
	for range rapid.IntRange(0, 40).Draw(r, "rows") {
		system := id.Draw(r, "system")
		tombstone := fold.TombstoneKey{System: system, Entity: events.Entity(text.Draw(r, "entity")), Key: text.Draw(r, "key")}
		state.Tombstones.Put(tombstone, fold.Tombstone{TombstoneKey: tombstone})
		classification := fold.ClassificationKey{System: system, Kind: text.Draw(r, "kind"), Code: text.Draw(r, "code")}
		state.Classifications.Put(classification, fold.Classification{ClassificationKey: classification})
		entry := fold.ExtensionEntry{System: system, Extension: id.Draw(r, "extension"), CreatedAt: at.Draw(r, "created"), ID: id.Draw(r, "id")}
		state.ExtensionCalls.Put(entry, entry)
		owner := fold.OwnerRowKey{System: system, OwnerRow: events.OwnerRow{ID: id.Draw(r, "owner"), Entity: events.Entity(text.Draw(r, "of"))}}
		state.Transcripts.Put(owner, fold.Transcript{OwnerRowKey: owner})
		recording := fold.RecordingKey{System: system, Sid: text.Draw(r, "sid")}
		state.Recordings.Put(recording, fold.Recording{RecordingKey: recording})
		day := fold.CountKey{System: system, List: text.Draw(r, "list"), Subset: text.Draw(r, "subset"), Day: at.Draw(r, "day").Day()}
		state.Counts[day] = 1
		state.References[fold.ReferenceKey{System: system, Family: text.Draw(r, "family"), Key: text.Draw(r, "reference")}] = 1
	}
	return state
}

// checkOrder stores rows and checks that they come back in the order of the folded ones.
func checkOrder(r *rapid.T, conn *pgx.Conn, state *fold.State) {
	ctx := context.Background()
	for _, table := range store.Tables() {
		if _, err := conn.Exec(ctx, "delete from "+table); err != nil {
			r.Fatal(err)
		}
	}
	copyState(r, conn, state)
	c := readCatalog(r, conn, "projection")
	systems, err := store.PhoneSystemIDs(ctx, conn, c)
	if err != nil {
		r.Fatal(err)
	}
	err = pgx.BeginTxFunc(ctx, conn, store.SnapshotOptions(), func(pgx.Tx) error {
		checkStored(r, conn, state, systems)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
}
