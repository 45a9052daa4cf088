package snapshot_test

import (
	"crypto/rand"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/snapshot"
)

//nolint:gochecknoglobals // flags are
var megabytes = flag.Int("megabytes", 100, "size of the stream in BenchmarkSaveAndRestore")

// BenchmarkSaveAndRestore measures the snapshot and the restore of a stream of random bytes, which cannot be compressed, and the heap. The
// server runs in the same process.
func BenchmarkSaveAndRestore(b *testing.B) {
	js := eventstest.JetStream(b, eventstest.NewServer(b).URL())
	if _, err := js.CreateStream(b.Context(), events.StreamConfig(events.StreamName, 4, 1)); err != nil {
		b.Fatal(err)
	}
	const size = 10_000
	for range *megabytes * 1_000_000 / size {
		data := make([]byte, size)
		_, _ = rand.Read(data) // never fails
		if _, err := js.PublishAsync("phones.a.call", data); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	path := filepath.Join(b.TempDir(), "stream")
	var saved snapshot.Stream
	b.Run("save", func(b *testing.B) { saved = saveFile(b, js.Conn(), path) })
	if held, err := saved.Range(); err != nil || held.Messages != uint64(*megabytes*1_000_000/size) {
		b.Errorf("range = %+v, error = %v", held, err)
	}
	b.Run("restore", func(b *testing.B) { restoreFile(b, path, saved) })
}

func saveFile(b *testing.B, conn *nats.Conn, path string) (saved snapshot.Stream) {
	b.Helper()
	b.SetBytes(int64(*megabytes) * 1_000_000)
	for b.Loop() {
		file, err := os.Create(path) //nolint:gosec // in the benchmark's own folder
		if err != nil {
			b.Fatal(err)
		}
		if saved, err = snapshot.Save(b.Context(), conn, events.StreamName, file); err != nil {
			b.Fatal(err)
		}
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
	}
	reportMemory(b)
	return saved
}

// reportMemory reports the heap of client and server together.
func reportMemory(b *testing.B) {
	b.Helper()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.HeapSys)/1e6, "heap-MB")
}

func restoreFile(b *testing.B, path string, saved snapshot.Stream) {
	b.Helper()
	js := eventstest.JetStream(b, eventstest.NewServer(b).URL())
	b.SetBytes(int64(*megabytes) * 1_000_000)
	for b.Loop() {
		file, err := os.Open(path) //nolint:gosec // the benchmark wrote it
		if err != nil {
			b.Fatal(err)
		}
		if err := snapshot.Restore(b.Context(), js.Conn(), events.StreamName, saved, file); err != nil {
			b.Fatal(err)
		}
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
		if err := js.DeleteStream(b.Context(), events.StreamName); err != nil {
			b.Fatal(err)
		}
	}
	reportMemory(b)
}
