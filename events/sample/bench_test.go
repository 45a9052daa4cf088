package sample

import "testing"

func BenchmarkHistory(b *testing.B) {
	b.ReportAllocs()
	n := 0
	for range New(Config{Seed: 1, Systems: 20, Calls: b.N}).History() {
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(n)/float64(b.N), "events/call")
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Config{Seed: 1, Systems: 100})
	}
}

func BenchmarkAudio(b *testing.B) {
	for b.Loop() {
		Audio("clips/voices-45s.wav")
	}
}
