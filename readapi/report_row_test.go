package readapi

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

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
