package sample

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// clip is the audio that recordings of about its length share: synthetic voices without words.
type clip struct {
	seconds int
}

func clips() []clip { return []clip{{4}, {7}, {11}, {15}, {20}, {26}, {34}, {45}} }

func nearestClip(seconds int) clip {
	best := clips()[0]
	for _, c := range clips() {
		if abs(c.seconds-seconds) < abs(best.seconds-seconds) {
			best = c
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// The format of all clips: WAV, 8000 samples per second as in telephony, 16 bit, mono.
const (
	wavHeader      = 44 // bytes
	bytesPerSecond = 2 * 8000
)

func (c clip) key() string { return "clips/voices-" + strconv.Itoa(c.seconds) + "s.wav" }

// bytes is the length of the WAV file.
func (c clip) bytes() int { return wavHeader + bytesPerSecond*c.seconds }

// AudioKeys are the keys of all clips.
func AudioKeys() []string {
	var keys []string
	for _, c := range clips() {
		keys = append(keys, c.key())
	}
	return keys
}

// Audio returns the WAV file of a recording's audio key; ok is false for an unknown key.
func Audio(key string) (wav []byte, ok bool) {
	for _, c := range clips() {
		if c.key() == key {
			return c.wav(), true
		}
	}
	return nil, false
}

// wav repeats the embedded phrases up to the clip's length.
func (c clip) wav() []byte {
	const phrases = 3
	wav := read("data/audio/phrases-1.wav")[:wavHeader:wavHeader]
	for i := c.seconds; len(wav) < c.bytes(); i++ {
		wav = append(wav, read(fmt.Sprintf("data/audio/phrases-%d.wav", i%phrases+1))[wavHeader:]...)
	}
	wav = wav[:c.bytes()]
	// The lengths of the file and of its samples.
	binary.LittleEndian.PutUint32(wav[4:], uint32(len(wav)-8))
	binary.LittleEndian.PutUint32(wav[40:], uint32(len(wav)-wavHeader))
	return wav
}
