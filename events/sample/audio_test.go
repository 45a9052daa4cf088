package sample

import (
	"bytes"
	"encoding/binary"
	"testing"

	"callboard/events"
)

// header is a WAV file's first 44 bytes.
type header struct {
	Riff             [4]byte
	Size             uint32
	Wave, Fmt        [4]byte
	FmtSize          uint32
	Format, Channels uint16
	Rate, ByteRate   uint32
	Align, Bits      uint16
	Data             [4]byte
	DataSize         uint32
}

func TestAudio(t *testing.T) {
	t.Parallel()
	for _, key := range AudioKeys() {
		wav, ok := Audio(key)
		if !ok {
			t.Fatalf("%s: no audio", key)
		}
		var h header
		if err := binary.Read(bytes.NewReader(wav), binary.LittleEndian, &h); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		want := header{
			Riff: [4]byte([]byte("RIFF")), Size: uint32(len(wav) - 8), Wave: [4]byte([]byte("WAVE")), Fmt: [4]byte([]byte("fmt ")), FmtSize: 16,
			Format: 1, Channels: 1, Rate: 8000, ByteRate: 16000, Align: 2, Bits: 16, Data: [4]byte([]byte("data")), DataSize: uint32(len(wav) - 44),
		}
		if h != want {
			t.Errorf("%s: header = %+v, want %+v", key, h, want)
		}
		loud := 0
		for i := 44; i < len(wav); i += 2 {
			if n := int16(binary.LittleEndian.Uint16(wav[i:])); n > 2500 || n < -2500 {
				loud++
			}
		}
		if share := loud * 100 / (len(wav) / 2); share < 3 || share > 70 {
			t.Errorf("%s: loud samples = %d%%, want 3 to 70%%", key, share)
		}
	}
	if _, ok := Audio("clips/unknown.wav"); ok {
		t.Error("an unknown key has audio")
	}
}

func TestHistory_RecordingsDescribeTheirAudio(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{}
	for _, key := range AudioKeys() {
		wav, _ := Audio(key)
		sizes[key] = len(wav)
	}
	used := map[string]bool{}
	for e := range New(Config{Calls: 2000}).History() {
		if r, ok := e.State.(*events.Recording); ok && r.Status == events.RecordingReady {
			used[r.Audio.Key] = true
			if int64(sizes[r.Audio.Key]) != r.Audio.Bytes || r.Audio.ContentType != "audio/wav" {
				t.Fatalf("audio = %+v, want audio/wav of %d bytes", r.Audio, sizes[r.Audio.Key])
			}
		}
	}
	if len(used) != len(sizes) {
		t.Errorf("used clips = %d, want %d", len(used), len(sizes))
	}
}
