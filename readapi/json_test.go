package readapi

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

// Whatever the text, what is written is read back by encoding/json as what encoding/json would have written.
func TestAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("\x00\x1f\x7f\"\\/<>&\n\u2028\ufffdä\U0001F4DE")), 0, 20, -1),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		ours := appendString([]byte("before"), text)
		theirs, _ := json.Marshal(text)
		var got, want string
		if err := json.Unmarshal(ours[len("before"):], &got); err != nil {
			t.Fatalf("%q: %v", ours, err)
		}
		if err := json.Unmarshal(theirs, &want); err != nil || got != want {
			t.Errorf("%q was read as %q, want %q", ours, got, want)
		}
	})
	if got := string(appendString(nil, "<a href='x'>&amp;</a>\u2028")); got != "\"<a href='x'>&amp;</a>\u2028\"" {
		t.Errorf("escaped for HTML: %s", got)
	}
}

func TestAppendTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instant := time.UnixMicro(rapid.Int64Range(-62135596800e6, 253402300799e6).Draw(t, "time")).In(time.FixedZone("", 3600))
		if got, want := string(appendTime(nil, instant)), instant.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestAppendUUID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id uuid.UUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if got := string(appendUUID(nil, id)); got != `"`+id.String()+`"` {
			t.Errorf("%s, want %s", got, id)
		}
	})
}

func TestProblem(t *testing.T) {
	codes := []code{
		validationFailed, unauthenticated, insufficientScope, credentialNotAccepted, addressNotAllowed, notFound, methodNotAllowed,
		recordingNotReady, exportTooLarge, rateLimited, internalError, serviceUnavailable, externalServiceTimeout,
	}
	retryable := map[code]bool{recordingNotReady: true, rateLimited: true, serviceUnavailable: true, externalServiceTimeout: true}
	for _, c := range codes {
		p := &problem{code: c, retryAfter: 7, errors: []fieldProblem{{"/a", tooLong, "\"long\""}, {"/b", required, "gone"}},
			params: []param{{"guard", "x\ny"}, {"maxBytes", int64(5_500_000)}}}
		var got document
		var params struct{ Params map[string]any }
		body := p.append(nil, "id")
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		_ = json.Unmarshal(body, &params)
		if got.Code != string(c) || got.Retryable != retryable[c] || got.RetryAfter != 7 || len(got.Errors) != 2 || got.Status != c.info().status ||
			params.Params["guard"] != "x\ny" || params.Params["maxBytes"] != 5.5e6 || strings.ContainsAny(got.Type, "_ABC") {
			t.Errorf("%s: %s", c, body)
		}
		if c != internalError && c.info().status == 500 {
			t.Errorf("%s has no row in the table", c)
		}
		var bare map[string]any
		_ = json.Unmarshal((&problem{code: c}).append(nil, "id"), &bare)
		if len(bare) != 7 {
			t.Errorf("%s alone: %v", c, bare)
		}
	}
}

// Numbers are written as encoding/json writes them.
func TestAppendNullFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 0.1, 88.5, 1.0 / 3, 1e-6, 9.99e-7, 1e-7, -1e-10, 1e20, 1e21, 5e-324})).Draw(t, "n")
		want, err := json.Marshal(n)
		if err != nil {
			want = []byte("null")
		}
		if got := appendNullFloat([]byte("before"), pgtype.Float8{Float64: n, Valid: true}); string(got) != "before"+string(want) {
			t.Errorf("%g: %s, want %s", n, got, want)
		}
	})
	for _, n := range []pgtype.Float8{{}, {Float64: math.NaN(), Valid: true}, {Float64: math.Inf(-1), Valid: true}} {
		if got := appendNullFloat(nil, n); string(got) != "null" {
			t.Errorf("%v: %s", n, got)
		}
	}
}
