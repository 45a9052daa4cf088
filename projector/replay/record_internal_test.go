package replay

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"callboard/events"
)

func drawRecord(t *rapid.T) record {
	r := record{
		StoredMessage: events.StoredMessage{
			Message:  events.Message{Subject: rapid.String().Draw(t, "subject"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")},
			Sequence: rapid.Uint64().Draw(t, "sequence"),
			StoredAt: time.Unix(0, rapid.Int64().Draw(t, "stored")),
		},
		clock: events.Time(rapid.Int64().Draw(t, "clock")), hash: rapid.Uint64().Draw(t, "hash"), reference: rapid.Bool().Draw(t, "reference"),
	}
	header := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "header")
	if len(header) > 0 {
		r.Header = nats.Header(header)
	}
	return r
}

func TestRecord_IsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecord(t)
		got, err := parseRecord(want.appendTo(nil))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("record = %+v, %v, want %+v", got, err, want)
		}
	})
}

// Of frames of which a part was lost or changed, those before it are read, and then there is an error.
func TestFrames_EndAtDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		payloads := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 10).Draw(t, "payloads")
		var file []byte
		var ends []int
		for _, payload := range payloads {
			file = appendFrame(file, func(dst []byte) []byte { return append(dst, payload...) })
			ends = append(ends, len(file))
		}
		at := rapid.IntRange(0, len(file)-1).Draw(t, "damage")
		intact := 0
		for ends[intact] <= at {
			intact++
		}
		torn := rapid.Bool().Draw(t, "torn")
		atEnd := torn && (at == 0 || intact > 0 && ends[intact-1] == at)
		if torn {
			file = file[:at]
		} else {
			file[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		}
		got, err := readAll(t, dir, file)
		if !reflect.DeepEqual(got, payloads[:intact]) && intact > 0 || len(got) != intact {
			t.Fatalf("frames = %q, want %q", got, payloads[:intact])
		}
		if atEnd && err != nil || !atEnd && !errors.Is(err, errDamaged) {
			t.Fatalf("error = %v at byte %d of frames that end at %v", err, at, ends)
		}
	})
}

type failer interface {
	Helper()
	Fatal(args ...any)
}

func readAll(t failer, dir string, content []byte) (payloads [][]byte, err error) {
	t.Helper()
	path := filepath.Join(dir, "frames")
	if err := os.WriteFile(path, content, fileMode); err != nil {
		t.Fatal(err)
	}
	frames, err := openFrames(path, 0, int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	defer frames.close()
	for {
		payload, err := frames.next()
		if errors.Is(err, io.EOF) {
			return payloads, nil
		}
		if err != nil {
			return payloads, err
		}
		payloads = append(payloads, payload)
	}
}

// Any bytes are read as records and facet references, or are damaged.
func FuzzFrames(f *testing.F) {
	r := record{StoredMessage: events.StoredMessage{Message: events.Message{Subject: "phones.0.x.call", Header: nats.Header{"a": {"b"}}, Data: []byte("{}")}, Sequence: 1}}
	whole := appendFrame(appendFrame(nil, r.appendTo), facetRef{version: 3}.appendTo)
	for _, seed := range [][]byte{nil, whole, whole[:len(whole)-1], whole[:frameHeader], bytes.Repeat([]byte{0xff}, 40)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		payloads, err := readAll(t, t.TempDir(), content)
		if err != nil && !errors.Is(err, errDamaged) {
			t.Fatal(err)
		}
		for _, payload := range append(payloads, content) {
			if r, err := parseRecord(payload); err == nil {
				if again, err := parseRecord(r.appendTo(nil)); err != nil || !reflect.DeepEqual(again, r) {
					t.Errorf("record %+v was read as %+v, %v", r, again, err)
				}
			}
			if c, err := parseFacetRef(payload); err == nil && !bytes.Equal(c.appendTo(nil)[:len(payload)-1], payload[:len(payload)-1]) {
				t.Errorf("facet reference %x was read as %+v", payload, c)
			}
		}
	})
}
