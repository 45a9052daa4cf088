package events

import (
	"errors"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner validates JSON and lists its members in one pass. It is as strict as jsontext: invalid UTF-8, lone surrogates and duplicate
// members are not valid. It does not say what is wrong, because [syntaxError] does. After a method that returned false, the scanner's
// state is undefined, but for full.
type scanner struct {
	text    string
	at      int
	depth   int
	members []member
	full    bool // there are more than maxValues members
}

// jsonSize returns how many bytes a text has as JSON, with its quotes, as callboard serves it.
func jsonSize(text string) int {
	size := len(`""`) + len(text)
	for at := plain(text, 0); at < len(text); at = plain(text, at+1) {
		switch c := text[at]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			size += len(`\n`) - 1
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size
}

// maxDepth is the largest number of objects and arrays within each other.
const maxDepth = 10_000

// scan appends the members of a text that is exactly one JSON value. It returns [errSyntax] if the text is none, and [errTooManyValues].
func scan(text string, members []member) ([]member, error) {
	s := scanner{text: text, members: members}
	s.space()
	valid := s.value("")
	s.space()
	switch {
	case s.full:
		return s.members, errTooManyValues
	case !valid || s.at != len(text):
		return s.members, errSyntax
	}
	return s.members, nil
}

var (
	errSyntax        = errors.New("not one JSON value")
	errTooManyValues = errors.New(atMost(maxValues, "values"))
)

// grow doubles the memory for members, up to maxValues. It returns false if there are as many. The old and the new memory are in use together.
func (s *scanner) grow() bool {
	if s.full = len(s.members) >= maxValues; s.full {
		return false
	}
	grown := make([]member, len(s.members), min(max(2*cap(s.members), 64), maxValues))
	copy(grown, s.members)
	s.members = grown
	return true
}

// next returns the next byte, or 0 at the end. A byte 0 is valid nowhere, so the two need no distinction.
func (s *scanner) next() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// accept skips the next byte if it is c.
func (s *scanner) accept(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\n', '\r', '\t':
			s.at++
		default:
			return
		}
	}
}

// value adds the next value, which has a name if it is an object's member, and the members within it.
func (s *scanner) value(name string) bool {
	if len(s.members) == cap(s.members) && !s.grow() {
		return false
	}
	switch kind := s.next(); kind {
	case '"':
		text, valid := s.string()
		s.members = append(s.members, member{name, value{kind: kind, text: text}})
		return valid
	case '{', '[':
		return s.composite(name, kind)
	case 't':
		return s.literal(name, "true")
	case 'f':
		return s.literal(name, "false")
	case 'n':
		return s.literal(name, "null")
	default:
		return s.number(name)
	}
}

func (s *scanner) literal(name, literal string) bool {
	if !strings.HasPrefix(s.text[s.at:], literal) {
		return false
	}
	s.at += len(literal)
	s.members = append(s.members, member{name, value{kind: literal[0]}})
	return true
}

func (s *scanner) number(name string) bool {
	start := s.at
	s.accept('-')
	valid := s.accept('0') || s.digits()
	if s.accept('.') {
		valid = s.digits() && valid
	}
	if s.accept('e') || s.accept('E') {
		_ = s.accept('+') || s.accept('-')
		valid = s.digits() && valid
	}
	s.members = append(s.members, member{name, value{kind: '0', text: s.text[start:s.at]}})
	return valid
}

// digits skips digits. It returns false if there is none.
func (s *scanner) digits() bool {
	start := s.at
	for isDigit(s.next()) {
		s.at++
	}
	return s.at > start
}

// composite adds an object or array and the members within it.
func (s *scanner) composite(name string, kind byte) bool {
	if s.depth == maxDepth {
		return false
	}
	index := len(s.members)
	s.members = append(s.members, member{name, value{kind: kind}})
	s.at++
	s.depth++
	valid := s.within(kind)
	s.depth--
	inner := s.members[index+1:]
	s.members[index].span = int32(len(inner))
	return valid && (kind == '[' || distinct(inner))
}

// within adds the members up to the closing bracket, and skips it.
func (s *scanner) within(kind byte) bool {
	closing := kind + 2 // in ASCII
	s.space()
	if s.accept(closing) {
		return true
	}
	for {
		name, valid := "", true
		if kind == '{' {
			name, valid = s.name()
		}
		if !valid || !s.value(name) {
			return false
		}
		s.space()
		if s.accept(closing) {
			return true
		}
		if !s.accept(',') {
			return false
		}
		s.space()
	}
}

// name reads a member's name, and skips the colon and the space after it.
func (s *scanner) name() (string, bool) {
	if s.next() != '"' {
		return "", false
	}
	name, valid := s.string()
	s.space()
	valid = valid && s.accept(':')
	s.space()
	return name, valid
}

// string reads a string after its opening quote. Nearly all strings are plain: they have no escapes and only ASCII.
func (s *scanner) string() (string, bool) {
	start := s.at + 1
	s.at = plain(s.text, start)
	if s.accept('"') {
		return s.text[start : s.at-1], true
	}
	return s.unusual(start)
}

// unusual reads the rest of a string that begins at start and is plain up to the next byte.
func (s *scanner) unusual(start int) (string, bool) {
	escaped := false
	for {
		size := 0
		switch c := s.next(); {
		case c == '"':
			text := s.text[start:s.at]
			s.at++
			if escaped {
				text = unescape(text)
			}
			return text, true
		case c == '\\':
			_, size = escape(s.text[s.at:])
			escaped = true
		case c >= utf8.RuneSelf:
			if _, size = utf8.DecodeRuneInString(s.text[s.at:]); size == 1 {
				size = 0
			}
		}
		if size == 0 {
			return "", false
		}
		s.at = plain(s.text, s.at+size)
	}
}

// plain returns the index of the first byte, from at on, that is no plain ASCII character of a string. It can be a quote, a backslash, a
// control character, a byte of a longer character, or the end. It looks at eight bytes at a time. The highest bit of a byte in found is set
// where the byte itself has it, or where a subtraction borrows. It borrows below a space, and at the zero to which xor makes a quote or a
// backslash. A borrow can mark bytes above such a byte, but never below, so that the lowest mark is right.
func plain(text string, at int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; at+8 <= len(text); at += 8 {
		word := word(text[at : at+8])
		found := (word | (word - ones*' ') | (word ^ ones*'"' - ones) | (word ^ ones*'\\' - ones)) & high
		if found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for ; at < len(text); at++ {
		if c := text[at]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return at
}

// word returns eight bytes, the first one as the lowest.
func word(b string) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// unescape replaces the escapes of a valid string.
func unescape(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		at := strings.IndexByte(text, '\\')
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		r, size := escape(text[at:])
		b.WriteString(text[:at])
		b.WriteRune(r)
		text = text[at+size:]
	}
}

// escape returns the character that the escape at the beginning of a text stands for, and the escape's length: 0 if it is not valid.
func escape(text string) (r rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	default:
		return hexEscape(text)
	}
}

// hexEscape is escape for \u and four hexadecimal digits, or two of them that are a surrogate pair.
func hexEscape(text string) (r rune, size int) {
	r, ok := codeUnit(text)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, _ := codeUnit(text[6:])
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// codeUnit parses \u and four hexadecimal digits at the beginning of a text.
func codeUnit(text string) (unit rune, ok bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}

// maxCompared is the largest number of members whose names are compared with each other. It bounds what a hostile message costs.
const maxCompared = 64

// distinct reports whether no two direct members have the same name. A name is compared with the earlier ones only if the filter has
// seen a name like it.
func distinct(members []member) bool {
	var filter [4]uint64
	count := 0
	for at := 0; at < len(members); at += 1 + int(members[at].span) {
		name := members[at].name
		if count++; count > maxCompared {
			return distinctMany(members)
		}
		hash := nameHash(name)
		word, bit := hash/64%4, uint64(1)<<(hash%64)
		if filter[word]&bit != 0 && indexOf(members[:at], name) >= 0 {
			return false
		}
		filter[word] |= bit
	}
	return true
}

func nameHash(name string) uint {
	if name == "" {
		return 0
	}
	return uint(len(name))*11 + uint(name[0])*31 + uint(name[len(name)-1])*7
}

// distinctMany is distinct for any number of members.
func distinctMany(members []member) bool {
	n := count(members)
	seen := make(map[string]struct{}, n)
	for _, m := range each(members) {
		seen[m[0].name] = struct{}{}
	}
	return len(seen) == n
}
