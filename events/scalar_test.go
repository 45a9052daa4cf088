package events

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The regular expressions are those of the JSON Schemas.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name, shape string
		is          func(string) bool
	}{
		{"decimal", `^-?[0-9]{1,30}(\.[0-9]{1,30})?$`, isDecimal},
		{"digest", `^SHA-256=[A-Za-z0-9_-]{43}=?$`, isDigest},
		{"recording sid", `^RE[A-Za-z0-9_-]{1,62}$`, isRecordingSid},
		{"E.164", `^\+[1-9][0-9]{1,14}$`, isE164},
		{"country", `^[A-Z]{2}$`, isCountry},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape := regexp.MustCompile(c.shape)
			rapid.Check(t, func(t *rapid.T) {
				s := nearly(rapid.StringMatching(c.shape)).Draw(t, "text")
				if got, want := c.is(s), shape.MatchString(s); got != want {
					t.Fatalf("%q = %t, want %t", s, got, want)
				}
			})
		})
	}
}

func TestTime_Day(t *testing.T) {
	for instant, want := range map[string]string{
		"2026-03-01T00:00:00.000Z": "2026-03-01T00:00:00.000Z",
		"2024-02-29T23:59:59.999Z": "2024-02-29T00:00:00.000Z",
		"1969-12-31T23:59:59.999Z": "1969-12-31T00:00:00.000Z",
		"0001-01-01T00:00:00.001Z": "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z": "9999-12-31T00:00:00.000Z",
	} {
		at, err := ParseTime(instant)
		if err != nil {
			t.Fatal(err)
		}
		if got := at.Day().String(); got != want {
			t.Errorf("day of %s = %s, want %s", instant, got, want)
		}
	}
}

func TestParseOwnerRow(t *testing.T) {
	const id = "2c3d4e5f-6071-4829-9aab-bccddeeff0cc"
	if owner, ok := ParseOwnerRow("call/" + id); !ok || owner.Key() != "call/"+id {
		t.Errorf("owner row = %v, %t, want call/%s", owner, ok, id)
	}
	for _, other := range []string{
		"", "call", "call/", "call/" + strings.ToUpper(id), "call/{" + id + "}", "call/" + id[1:] + "x",
	} {
		if owner, ok := ParseOwnerRow(other); ok {
			t.Errorf("%q: owner row = %v, want none", other, owner)
		}
	}
}

// nearly generates texts of a generator, one in two with one or two characters changed, added or removed.
func nearly(texts *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := texts.Draw(t, "text")
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "changes") {
			from := rapid.IntRange(0, len(s)).Draw(t, "from")
			to := min(len(s), from+rapid.IntRange(0, 1).Draw(t, "removed"))
			s = s[:from] + rapid.SampledFrom([]string{"", "0", "9", "a", "Z", "-", "+", "=", ".", "ä", "\n", "/", ":", "@", "[", "`", "{"}).Draw(t, "added") + s[to:]
		}
		return s
	})
}
