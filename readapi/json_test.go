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

// encoding/json reads the string as it reads its own encoding of the text.
func TestAppendString(t *testing.T) {
	t.Parallel()
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
			t.Errorf("%q decodes to %q, want %q", ours, got, want)
		}
	})
	if got := string(appendString(nil, "<a href='x'>&amp;</a>\u2028")); got != "\"<a href='x'>&amp;</a>\u2028\"" {
		t.Errorf("string = %s, want one that is not escaped for HTML", got)
	}
}

func TestAppendTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		instant := time.UnixMicro(rapid.Int64Range(-62135596800e6, 253402300799e6).Draw(t, "time")).In(time.FixedZone("", 3600))
		if got, want := string(appendTime(nil, instant)), instant.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("time = %s, want %s", got, want)
		}
	})
}

func TestAppendUUID(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var id uuid.UUID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if got := string(appendUUID(nil, id)); got != `"`+id.String()+`"` {
			t.Errorf("identifier = %s, want %s", got, id)
		}
	})
}

func TestProblem_Append(t *testing.T) {
	t.Parallel()
	retryable := map[code]bool{recordingNotReady: true, rateLimited: true, serviceUnavailable: true, externalServiceTimeout: true}
	for _, c := range []code{
		validationFailed, unauthenticated, insufficientScope, credentialNotAccepted, addressNotAllowed, notFound, methodNotAllowed, preconditionFailed,
		rangeNotSatisfiable, recordingNotReady, exportTooLarge, rateLimited, internalError, serviceUnavailable, externalServiceTimeout,
	} {
		p := &problem{code: c, retryAfter: 7, errors: []fieldProblem{{"/a", tooLong, "\"long\""}, {"/b", required, "missing"}},
			params: []param{{"guard", "x\ny"}, {"maxBytes", int64(5_500_000)}}}
		body := p.append(nil, "id")
		var got document
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if got.Code != c || got.Retryable != retryable[c] || got.RetryAfter != 7 || len(got.Errors) != 2 || got.Status != c.info().status ||
			got.Params["guard"] != "x\ny" || got.Params["maxBytes"] != 5.5e6 || strings.ContainsAny(got.Type, "_ABC") {
			t.Errorf("problem document of %s = %s", c, body)
		}
		if c != internalError && c.info().status == 500 {
			t.Errorf("status of %s = 500, want one of its own", c)
		}
		var members map[string]any
		if err := json.Unmarshal((&problem{code: c}).append(nil, "id"), &members); err != nil || len(members) != 7 {
			t.Errorf("members of %s without optional ones = %v, %v, want 7", c, members, err)
		}
	}
}

// Numbers are encoded as encoding/json does, and null where it fails.
func TestAppendNullFloat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 0.1, 88.5, 1.0 / 3, 1e-6, 9.99e-7, 1e-7, -1e-10, 1e20, 1e21, 5e-324})).Draw(t, "n")
		want, err := json.Marshal(n)
		if err != nil {
			want = []byte("null")
		}
		if got := appendNullFloat([]byte("before"), pgtype.Float8{Float64: n, Valid: true}); string(got) != "before"+string(want) {
			t.Errorf("%g = %s, want %s", n, got, want)
		}
	})
	for _, n := range []pgtype.Float8{{}, {Float64: math.NaN(), Valid: true}, {Float64: math.Inf(-1), Valid: true}} {
		if got := appendNullFloat(nil, n); string(got) != "null" {
			t.Errorf("%v = %s, want null", n, got)
		}
	}
}
