package sample

// A voice is a buzz at the pitch of its vocal cords, sent through two resonators, the formants, whose places make the vowel.
// Everything is fixed-point arithmetic with 14 bits of fraction, so that a clip has the same bytes everywhere.

// vowel is the coefficients of two resonators: 2r cos(2πf/8000) and r² for each formant f.
type vowel [2]struct{ feedback, damping int64 }

func vowels() []vowel {
	return []vowel{
		{{26677, 15386}, {20568, 15028}}, // a
		{{29043, 15386}, {3933, 15028}},  // e
		{{30877, 15386}, {-4909, 15028}}, // i
		{{28625, 15386}, {24797, 15028}}, // o
		{{30757, 15386}, {24337, 15028}}, // u
		{{29337, 15386}, {14247, 15028}}, // as in about
	}
}

// babble is the clip's samples: phrases of syllables with breaths between them, by a low and a high voice in turn.
func (c clip) babble() []int16 {
	s := speaker{dice: newDice(uint64(c.number), audioPath), samples: make([]int16, 0, rate*c.seconds)}
	for turn := 0; len(s.samples) < cap(s.samples); turn++ {
		s.pitch = 105
		if turn%2 == 1 {
			s.pitch = 190
		}
		s.pause(s.dice.between(150, 450))
		for range s.dice.between(4, 14) {
			s.syllable()
		}
		// The voice drops at the end of a phrase.
		s.pitch = s.pitch * 8 / 10
		s.syllable()
	}
	return s.samples
}

// speaker produces samples until the clip is full.
type speaker struct {
	dice    dice
	samples []int16
	pitch   int // Hz
	phase   int
	memory  [2][2]int64 // the resonators' last two outputs
}

func (s *speaker) pause(milliseconds int) {
	for range milliseconds * rate / 1000 {
		s.emit(int64(s.dice.between(-12, 12))) // line noise
	}
}

func (s *speaker) emit(sample int64) {
	if len(s.samples) < cap(s.samples) {
		s.samples = append(s.samples, int16(min(max(sample, -32000), 32000)))
	}
}

// syllable is a breath of a consonant and a vowel that swells and fades while its pitch bends.
func (s *speaker) syllable() {
	v := pick(&s.dice, vowels())
	length := s.dice.between(90, 230) * rate / 1000
	pitch := s.pitch * s.dice.between(90, 115) / 100
	bend := s.dice.between(-12, 12)
	for range s.dice.between(15, 55) * rate / 1000 {
		s.emit(int64(s.dice.between(-900, 900)))
	}
	for i := range length {
		s.phase += pitch + bend*i/length
		var pulse int64
		if s.phase >= rate {
			s.phase -= rate
			pulse = 9000
		}
		swell := int64(min(i, length-i, 320))
		s.emit(s.resonate(v, pulse) * swell / 320)
	}
}

func (s *speaker) resonate(v vowel, pulse int64) int64 {
	for i, formant := range v {
		m := &s.memory[i]
		out := pulse + (formant.feedback*m[0]-formant.damping*m[1])>>14
		m[0], m[1] = out, m[0]
		pulse = out / 2
	}
	return pulse / 2
}
