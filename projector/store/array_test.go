package store_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Values at the ends of their types are loaded as they were written.
func TestStore_LoadsExtremeValues(t *testing.T) {
	t.Parallel()
	s, database, _ := openStore(t)
	rapid.Check(t, func(r *rapid.T) {
		database.ClearProjection(t)
		state := extremeRows(r)
		from := claim(r, s)
		to := from
		to.Sequence++
		write(r, s, store.ChangeSet{From: from, To: to, State: state})

		var touched []events.Event
		for row := range state.CallLogs.Rows() {
			touched = append(touched, events.Deleted(events.Identity{Entity: events.EntityCall, System: row.System, Key: row.ID.String()}))
		}
		for row := range state.Groups.Rows() {
			touched = append(touched, events.Deleted(events.Identity{Entity: events.EntityGroup, Key: row.ID.String()}))
		}
		err := s.BeginFunc(context.Background(), func(tx *store.Tx) error {
			loaded, err := tx.Load(context.Background(), 3, touched, false)
			if err == nil {
				requireLoaded(r, state, loaded)
			}
			return err
		})
		if err != nil {
			r.Fatal(err)
		}
	})
}

func requireLoaded(r *rapid.T, state, loaded *fold.State) {
	r.Helper()
	for row := range state.CallLogs.Rows() {
		if got, ok := loaded.CallLogs.Get(row.Key); !ok || fmt.Sprint(got) != fmt.Sprint(*row) { // NaN is not equal to itself
			r.Errorf("call = %+v, want %+v", got, *row)
		}
	}
	for row := range state.Groups.Rows() {
		if got, ok := loaded.Groups.Get(row.ID); !ok || got != *row {
			r.Errorf("group = %+v, want %+v", got, *row)
		}
	}
}

// extremeRows draws rows of tables that have a column of every type between them.
func extremeRows(r *rapid.T) *fold.State {
	state := &fold.State{Partition: 3}
	for n := range rapid.IntRange(0, 4).Draw(r, "rows") {
		key := fold.Key{System: id(1), ID: id(10 + n)}
		call := fold.CallLog{Key: key, Version: drawInt64(r), UpdatedAt: drawTime(r)}
		call.FromName, call.StartTime, call.EndTime = null(r, drawText), null(r, drawTime), null(r, drawTime)
		call.Duration, call.CallGroupID = null(r, drawInt32), null(r, drawID)
		call.IsEdited = rapid.Bool().Draw(r, "edited")
		call.Tags = rapid.SampledFrom([]fold.JSON{"[]", `[ {"name": "\u2028 \" , {} ü"} ]`}).Draw(r, "tags")
		call.Transcription.Digest = null(r, func(*rapid.T) [32]byte { return [32]byte{0, 0xff, 31: byte(n)} })
		call.ScorecardScore = null(r, drawFloat)
		state.CallLogs.Put(key, call)

		group := fold.Group{ID: key.ID, Name: drawText(r)}
		group.PhoneSystemIDs = fold.IDList(rapid.SampledFrom([]string{"", uuid.Max.String(), uuid.Nil.String() + "," + key.ID.String()}).Draw(r, "list"))
		state.Groups.Put(group.ID, group)
	}
	return state
}

func null[T comparable](r *rapid.T, draw func(*rapid.T) T) events.Null[T] {
	if rapid.Bool().Draw(r, "null") {
		return events.Null[T]{}
	}
	return events.Some(draw(r))
}

func drawText(r *rapid.T) string {
	return rapid.SampledFrom([]string{
		"", " ", "null", "NULL", `{"a",\b}`, "\x01\n\t\x7f", "Zoë \u2028 😀", strings.Repeat("ë", 40_000),
	}).Draw(r, "text")
}

// drawTime draws a time that events can have: in the years 1 to 9999.
func drawTime(r *rapid.T) events.Time {
	year := func(y int) events.Time { return events.TimeOf(time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)) }
	return rapid.SampledFrom([]events.Time{
		year(1), year(1970) - 1, year(1970), year(2000) - 1, year(2000), year(2000) + 1, 1_700_000_000_123, year(10_000) - 1,
	}).Draw(r, "time")
}

func drawInt64(r *rapid.T) int64 {
	return rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64}).Draw(r, "bigint")
}

func drawInt32(r *rapid.T) int64 {
	return rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt32 / 8, math.MinInt32 / 8}).Draw(r, "integer")
}

func drawFloat(r *rapid.T) float64 {
	return rapid.SampledFrom([]float64{
		0, math.Copysign(0, -1), 0.1, math.MaxFloat64, -math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
	}).Draw(r, "float")
}

func drawID(r *rapid.T) uuid.UUID {
	return rapid.SampledFrom([]uuid.UUID{uuid.Nil, uuid.Max, id(7)}).Draw(r, "id")
}

// PostgreSQL refuses a value of a batch that its column can't hold, as the event's fault.
func TestStore_WriteRefusesValuesOutOfRange(t *testing.T) {
	t.Parallel()
	s, database, _ := openStore(t)
	for _, test := range []struct {
		name    string
		row     fold.Voicemail
		refused bool
	}{
		{"an integer above the range", fold.Voicemail{Duration: math.MaxInt32 + 1}, true},
		{"an integer below the range", fold.Voicemail{Duration: math.MinInt32 - 1}, true},
		{"a NUL", fold.Voicemail{From: "+1\x00"}, true},
		{"bytes that are not UTF-8", fold.Voicemail{From: "+1\xff"}, true},
		{"a time after the last", fold.Voicemail{CreatedAt: math.MaxInt64/1000 + 946_684_800_000}, true},
		{"the greatest integer", fold.Voicemail{Duration: math.MaxInt32}, false},
		{"the least integer", fold.Voicemail{Duration: math.MinInt32}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			database.ClearProjection(t)
			state := &fold.State{Partition: 3}
			test.row.Key = fold.Key{System: id(1), ID: id(40)}
			state.Voicemails.Put(test.row.Key, test.row)
			from := claim(t, s)
			to := from
			to.Sequence++
			err := s.BeginFunc(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Write(context.Background(), store.ChangeSet{From: from, To: to, State: state})
				return err
			})
			if store.IsDataError(err) != test.refused || (err != nil) != test.refused {
				t.Errorf("error = %v, want a data error: %t", err, test.refused)
			}
		})
	}
}

// An array is sent for parameters of its own type, in binary form, or not at all.
func TestArray_RefusesOtherTypes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		oid     uint32
		format  int16
		element string
		sent    bool
	}{
		{"its type", pgtype.Int8ArrayOID, pgtype.BinaryFormatCode, "int8", true},
		{"another array", pgtype.Int4ArrayOID, pgtype.BinaryFormatCode, "int8", false},
		{"another registered array", pgtype.TextArrayOID, pgtype.BinaryFormatCode, "uuid", false},
		{"no array", pgtype.TextOID, pgtype.BinaryFormatCode, "text", false},
		{"text form", pgtype.TextArrayOID, pgtype.TextFormatCode, "text", false},
	} {
		if got, err := store.EncodeArray(pgtype.NewMap(), test.oid, test.format, test.element); (err == nil) != test.sent {
			t.Errorf("%s: encoded = %x, error %v, want sent: %t", test.name, got, err, test.sent)
		}
	}
}
