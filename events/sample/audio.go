package sample

import (
	"encoding/binary"
	"strconv"
)

// clip is a recording: two voices that take turns without saying a word. Recordings share a few of them.
type clip struct {
	number  int
	seconds int
}

func clips() []clip {
	return []clip{{1, 4}, {2, 7}, {3, 11}, {4, 15}, {5, 20}, {6, 26}, {7, 34}, {8, 45}}
}

func nearestClip(seconds int) clip {
	all := clips()
	best := all[0]
	for _, c := range all {
		if abs(c.seconds-seconds) < abs(best.seconds-seconds) {
			best = c
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

const (
	rate      = 8000 // samples per second, as telephones have it
	headSize  = 44
	keyPrefix = "clips/voices-"
	keySuffix = "s.wav"
)

func (c clip) key() string { return keyPrefix + strconv.Itoa(c.seconds) + keySuffix }

// bytes is the length of the WAV file.
func (c clip) bytes() int { return headSize + 2*rate*c.seconds }

// AudioKeys are the keys of all clips.
func AudioKeys() []string {
	var keys []string
	for _, c := range clips() {
		keys = append(keys, c.key())
	}
	return keys
}

// Audio is the WAV file (8 kHz, 16 bit, mono) that a recording's audio key names; ok is false for a key that none has.
func Audio(key string) (wav []byte, ok bool) {
	for _, c := range clips() {
		if c.key() == key {
			return c.wav(), true
		}
	}
	return nil, false
}

func (c clip) wav() []byte {
	b := make([]byte, 0, c.bytes())
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(c.bytes()-8))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1) // PCM
	b = binary.LittleEndian.AppendUint16(b, 1) // mono
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, 2*rate)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(2*rate*c.seconds))
	for _, sample := range c.babble() {
		b = binary.LittleEndian.AppendUint16(b, uint16(sample))
	}
	return b
}
