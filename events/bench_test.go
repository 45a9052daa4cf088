package events_test

import (
	"testing"

	"callboard/events"
)

func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"call.changed", "transcript.changed", "phone.deleted"} {
		b.Run(name, func(b *testing.B) {
			m := fixture(b, name)
			b.SetBytes(int64(len(m.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := events.Decode(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{"call.changed", "transcript.changed"} {
		b.Run(name, func(b *testing.B) {
			e := decoded(b, name)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := events.Encode(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
