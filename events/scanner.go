package events

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads JSON that is known to be valid.
type scanner struct {
	text    string
	at      int
	members []member
}

// value adds the value ahead, and what stands within it.
func (s *scanner) value(name string) {
	s.space()
	place := len(s.members)
	s.members = append(s.members, member{name: name})
	v := value{kind: s.text[s.at]}
	switch v.kind {
	case '{', '[':
		s.within(v.kind == '{')
		v.span = int32(len(s.members) - place - 1)
	case '"':
		v.text = s.string()
	case 't', 'n':
		s.at += len("true")
	case 'f':
		s.at += len("false")
	default:
		v.kind, v.text = '0', s.number()
	}
	s.members[place].value = v
}

// within reads up to and including the closing bracket.
func (s *scanner) within(named bool) {
	for s.at++; ; {
		s.space()
		switch s.text[s.at] {
		case '}', ']':
			s.at++
			return
		case ',':
			s.at++
			continue
		}
		name := ""
		if named {
			name = s.string()
			s.space()
			s.at++ // the colon
		}
		s.value(name)
	}
}

// space goes to the next character that means something.
func (s *scanner) space() {
	for s.text[s.at] <= ' ' {
		s.at++
	}
}

func (s *scanner) string() string {
	rest := s.text[s.at+1:]
	end := strings.IndexByte(rest, '"')
	if plain := rest[:end]; strings.IndexByte(plain, '\\') < 0 {
		s.at += end + 2
		return plain
	}
	return s.escaped()
}

func (s *scanner) escaped() string {
	start := s.at
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	unquoted, _ := jsontext.AppendUnquote(nil, s.text[start:s.at])
	return string(unquoted)
}

func (s *scanner) number() string {
	start := s.at
	for s.at < len(s.text) && strings.IndexByte("+-.0123456789Ee", s.text[s.at]) >= 0 {
		s.at++
	}
	return s.text[start:s.at]
}
