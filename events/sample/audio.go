package sample

import (
	"bytes"
	"encoding/binary"
)

// The audio of all recordings: one melody as a WAV file with 8,000 samples per second, as in telephony, of 16 bits
// each.
const (
	AudioKey = "clips/melody.wav" // in the audio store

	sampleRate   = 8000
	noteLength   = sampleRate / 2
	melodyNotes  = 24
	melodyLength = melodyNotes * noteLength // in samples
	wavHeader    = 44                       // bytes
	audioBytes   = wavHeader + 2*melodyLength
)

// Audio returns the WAV file.
func Audio() []byte {
	scale := []int{523, 659, 784, 659, 698, 587, 494, 392} // Hz
	samples := make([]int16, melodyLength)

	for i := range samples {
		// A parabola in each half of a wave is close to a sine. A note fades as that of a bell.
		at, fade := i%noteLength, noteLength-i%noteLength

		phase := at * scale[i/noteLength%len(scale)] % sampleRate * 2
		x := phase % sampleRate
		wave := x * (sampleRate - x) / (sampleRate / 4)
		if phase >= sampleRate {
			wave = -wave
		}

		samples[i] = int16(2 * wave * fade / noteLength * fade / noteLength)
	}

	var wav bytes.Buffer
	for _, field := range []any{
		[]byte("RIFF"), uint32(audioBytes - 8), []byte("WAVEfmt "), uint32(16),
		uint16(1), uint16(1), uint32(sampleRate), uint32(2 * sampleRate), uint16(2), uint16(16), // PCM, one channel
		[]byte("data"), uint32(2 * len(samples)), samples,
	} {
		_ = binary.Write(&wav, binary.LittleEndian, field) // a buffer never fails
	}

	return wav.Bytes()
}
