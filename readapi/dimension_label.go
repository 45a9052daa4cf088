package readapi

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// label is what a code is called: by its definition or, where there is none or its label is blank, by the code's own words. A
// code without a letter or digit is its own label, in quotes if there is nothing to be seen of it.
func label(code, defined string) string {
	switch {
	case !blank(defined):
		return defined
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

// blank reports whether there is nothing to be seen of a text.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}
