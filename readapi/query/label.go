package query

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label is the name of a classification's code. It is the label that the phone system has for it or, if that is blank
// or missing, made of the words in the code. A code without letters and digits is its own label, quoted if it is blank.
func Label(code, known string) string {
	switch {
	case !blank(known):
		return known
	case blank(code):
		return strconv.QuoteToASCII(code)
	case !strings.ContainsFunc(code, func(r rune) bool { return unicode.In(r, unicode.Letter, unicode.Digit) }):
		return code
	}

	words := strings.Join(strings.FieldsFunc(code, func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit)
	}), " ")

	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// blank reports whether a text has no visible character.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}
