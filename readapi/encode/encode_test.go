package encode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"callboard/readapi/encode"
)

// escaped is text as a JSON string: the rules one character at a time.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text { // a byte that isn't UTF-8 is U+FFFD
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// texts draws short and long text with much that needs an escape, and bytes that aren't UTF-8.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune("aaaaaaaaaaaaaaaa \x00\x1f\x7f\"\\/<>&!#[]\n\r\t\u2028\ufffdä\U0001F4DE")), 0, 60, -1),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

func doubles() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
		0, 0.1, 88.5, 1.0 / 3, 1e-6, 9.99e-7, 1e-7, -1e-10, 1e20, 1e21, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1),
	}))
}

func number(n float64) string {
	text, err := json.Marshal(n)
	if err != nil {
		return "null"
	}
	return string(text)
}

// table has a member of every kind.
func table() *encode.Layout {
	return encode.NewLayout(
		encode.System("system"), encode.Present("hasText"), encode.Text("text"), encode.Integer("integer"), encode.Double("double"),
		encode.Boolean("boolean"), encode.Identifier("id"), encode.Instant("time"), encode.JSON("json"), encode.Identifier("phone"),
	)
}

// columns are those of table, as PostgreSQL describes them.
func columns() []pgconn.FieldDescription {
	var all []pgconn.FieldDescription
	for _, c := range []struct {
		oid    uint32
		format int16
	}{
		{pgtype.TextOID, pgtype.TextFormatCode}, {pgtype.Int4OID, pgtype.BinaryFormatCode}, {pgtype.Float8OID, pgtype.BinaryFormatCode},
		{pgtype.BoolOID, pgtype.BinaryFormatCode}, {pgtype.UUIDOID, pgtype.BinaryFormatCode}, {pgtype.TimestamptzOID, pgtype.BinaryFormatCode},
		{pgtype.JSONOID, pgtype.TextFormatCode}, {pgtype.UUIDOID, pgtype.BinaryFormatCode},
	} {
		all = append(all, pgconn.FieldDescription{Name: fmt.Sprint("column", len(all)), DataTypeOID: c.oid, Format: c.format})
	}
	return all
}

// value is a column's value, as the driver encodes it, and its JSON.
type value struct {
	binary []byte
	json   string
}

// values draws a value for every column of table, or NULL.
func values(t *rapid.T) []value {
	types, all := pgtype.NewMap(), []value(nil)
	add := func(v any, text string) {
		c := columns()[len(all)]
		encoded, err := types.Encode(c.DataTypeOID, c.Format, v, []byte{})
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, value{encoded, text}); rapid.Bool().Draw(t, "null") {
			all[len(all)-1] = value{nil, "null"}
		}
	}
	text, n, double := texts().Draw(t, "text"), rapid.Int32().Draw(t, "integer"), doubles().Draw(t, "double")
	id, stored := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")), fmt.Sprintf(`{"a" :%d}`, n)
	instant := time.UnixMicro(rapid.Int64Range(-62135596800e6, 253402300799_999_999).Draw(t, "time")).UTC()
	add(text, escaped(text))
	add(n, strconv.Itoa(int(n)))
	add(double, number(double))
	add(n%2 == 0, strconv.FormatBool(n%2 == 0))
	add(pgtype.UUID{Bytes: id, Valid: true}, `"`+id.String()+`"`)
	add(instant, instant.Format(`"2006-01-02T15:04:05.000Z"`))
	add([]byte(stored), stored)
	add(pgtype.UUID{Bytes: id, Valid: true}, `"`+id.String()+`"`)
	return all
}

func phoneSystem() uuid.UUID { return uuid.MustParse("b0000000-0000-4000-8000-000000000001") }

// Rows have the JSON of what the driver encoded, and nothing of an earlier run of the statement.
func TestRows(t *testing.T) {
	t.Parallel()
	shared := table()
	rapid.Check(t, func(t *rapid.T) {
		rows := encode.NewRowWriter(shared, phoneSystem(), []byte("["))
		var want strings.Builder
		for range 2 {
			want.Reset()
			want.WriteByte('[')
			if err := rows.Begin(columns()); err != nil {
				t.Fatal(err)
			}
			for i := range rapid.IntRange(0, 3).Draw(t, "rows") {
				var raw [][]byte
				if i > 0 {
					want.WriteByte(',')
				}
				all := values(t)
				fmt.Fprintf(&want, `{"system":"%s","hasText":%t`, phoneSystem(), all[0].binary != nil)
				for i, name := range []string{"text", "integer", "double", "boolean", "id", "time", "json", "phone"} {
					raw = append(raw, all[i].binary)
					want.WriteString(`,"` + name + `":` + all[i].json)
				}
				want.WriteByte('}')
				if err := rows.Append(raw); err != nil || rows.Count != i+1 {
					t.Fatalf("row %d: count = %d, %v, want %d", i, rows.Count, err, i+1)
				}
			}
		}
		if got := string(rows.Body); got != want.String() {
			t.Errorf("rows = %s, want %s", got, want.String())
		}
		if !json.Valid([]byte(want.String() + "]")) {
			t.Errorf("rows = %s, want valid JSON", want.String())
		}
	})
}

// A body takes no more than its room, and a little for numbers, identifiers and names of members. Its size is known
// whatever its room is.
func TestRows_Room(t *testing.T) {
	t.Parallel()
	shared := table()
	rapid.Check(t, func(t *rapid.T) {
		var list [][][]byte
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			var raw [][]byte
			for _, v := range values(t) {
				raw = append(raw, v.binary)
			}
			raw[0] = rapid.SliceOf(rapid.Byte()).Draw(t, "text")
			list = append(list, raw)
		}
		write := func(room int) *encode.RowWriter {
			rows := encode.NewRowWriter(shared, phoneSystem(), nil)
			rows.Room = room
			if err := rows.Begin(columns()); err != nil {
				t.Fatal(err)
			}
			for _, raw := range list {
				if err := rows.Append(raw); err != nil {
					t.Fatal(err)
				}
			}
			return rows
		}

		whole := write(math.MaxInt)
		room := rapid.IntRange(0, len(whole.Body)+100).Draw(t, "room")
		limited := write(room)
		if size := len(limited.Body) + limited.LeftOut; size != len(whole.Body) {
			t.Errorf("room %d: size = %d, want %d", room, size, len(whole.Body))
		}
		if most := room + 500*len(list); len(limited.Body) > most {
			t.Errorf("room %d: body = %d bytes, want %d at most", room, len(limited.Body), most)
		}
		if room >= len(whole.Body) && !bytes.Equal(limited.Body, whole.Body) {
			t.Errorf("room %d: body = %s, want %s", room, limited.Body, whole.Body)
		}
	})
}

// testNames are the names of one page.
type testNames struct{}

// Reference implements [encode.Names].
func (testNames) Reference(family string, id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return `{"family":"` + family + `"}`
}

// Code implements [encode.Names].
func (testNames) Code(kind string, code []byte) (object, score string) {
	return `{"code":"` + kind + " " + string(code) + `"}`, "0.75"
}

// Names and labels come from the page's Names. A missing target is null, and a score of the row goes before the
// classification's.
func TestRows_Names(t *testing.T) {
	t.Parallel()
	system := phoneSystem()
	rows := encode.NewRowWriter(encode.NewLayout(
		encode.Named("a", "extension"), encode.Code("b", "category"), encode.ScoredCode("c", "mood"),
		encode.Object("d", encode.Text("text"), encode.Boolean("flag")), encode.Text("last"),
	), system, nil)
	rows.Names = testNames{}
	half := []byte{0x3f, 0xe0, 0, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		columns [][]byte
		want    string
	}{
		{
			[][]byte{system[:], []byte("x"), []byte("y"), half, []byte("t"), {1}, []byte("z")},
			`{"a":{"family":"extension"},"b":{"code":"category x"},"c":{"code":"mood y","score":0.5},"d":{"text":"t","flag":true},"last":"z"}`,
		},
		{
			[][]byte{uuid.Nil[:], []byte(""), []byte(""), nil, []byte(""), nil, []byte("")},
			`{"a":null,"b":{"code":"category "},"c":{"code":"mood ","score":0.75},"d":{"text":"","flag":null},"last":""}`,
		},
		{make([][]byte, 7), `{"a":null,"b":null,"c":null,"d":null,"last":null}`},
	} {
		rows.Body, rows.Count = nil, 0
		if err := rows.Append(c.columns); err != nil || string(rows.Body) != c.want {
			t.Errorf("row = %s, %v, want %s", rows.Body, err, c.want)
		}
	}
}

// Other columns than the table's are an error, with the column in it.
func TestRows_UnexpectedColumns(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]pgconn.FieldDescription) []pgconn.FieldDescription{
		"the statement has 7 columns": func(c []pgconn.FieldDescription) []pgconn.FieldDescription { return c[1:] },
		"the statement has 9 columns": func(c []pgconn.FieldDescription) []pgconn.FieldDescription { return append(c, c[0]) },
		"column column1 is of type 20 in format 1": func(c []pgconn.FieldDescription) []pgconn.FieldDescription {
			c[1].DataTypeOID = pgtype.Int8OID
			return c
		},
		"column column5 is of type 1184 in format 0": func(c []pgconn.FieldDescription) []pgconn.FieldDescription { c[5].Format = 0; return c },
		"column column6 is of type 3802 in format 0": func(c []pgconn.FieldDescription) []pgconn.FieldDescription {
			c[6].DataTypeOID = pgtype.JSONBOID
			return c
		},
	} {
		rows := encode.NewRowWriter(table(), phoneSystem(), nil)
		if err := rows.Begin(change(columns())); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error = %v, want one with %q", err, name)
		}
	}
}

// A time that RFC 3339 can't represent is an error of its row only.
func TestRows_TimeOutOfRange(t *testing.T) {
	t.Parallel()
	rows := encode.NewRowWriter(encode.NewLayout(encode.Instant("createdAt")), phoneSystem(), nil)
	for _, c := range []struct {
		instant pgtype.Timestamptz
		fails   bool
	}{
		{pgtype.Timestamptz{InfinityModifier: pgtype.Infinity}, true},
		{pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity}, true},
		{pgtype.Timestamptz{Time: time.Date(1, 1, 1, 0, 0, 0, -1000, time.UTC)}, true},
		{pgtype.Timestamptz{Time: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)}, false},
		{pgtype.Timestamptz{Time: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)}, false},
		{pgtype.Timestamptz{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, true},
	} {
		c.instant.Valid = true
		encoded, err := pgtype.NewMap().Encode(pgtype.TimestamptzOID, pgtype.BinaryFormatCode, c.instant, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Begin(columns()[5:6]); err != nil {
			t.Fatal(err)
		}
		if err := rows.Append([][]byte{encoded}); (err != nil) != c.fails {
			t.Errorf("%v: error = %v, want one: %t", c.instant, err, c.fails)
		}
	}
}

// A row costs no allocation while the body has room.
func TestRows_Allocations(t *testing.T) {
	system := phoneSystem()
	rows := encode.NewRowWriter(table(), system, make([]byte, 0, 1<<20))
	raw := [][]byte{[]byte("Zoë \"Z\""), {0, 0, 0, 1}, {0x3f, 0xe0, 0, 0, 0, 0, 0, 0}, {1}, system[:], {0, 2, 0, 0, 0, 0, 0, 0}, []byte("[]"), system[:]}
	if n := testing.AllocsPerRun(100, func() {
		if err := rows.Append(raw); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("allocations of a row = %g, want 0", n)
	}
}
