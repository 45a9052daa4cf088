package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"callboard/readapi/access"
)

func grant(g access.Grant) string { return string(g.Kind) + " " + g.ID.String() }

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// instantOr is the instant where there is one.
func instantOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return instant(*t)
}

func lastUse(k access.Record) string {
	if k.LastUsedAt == nil || k.LastUsedAddress == nil {
		return instantOr(k.LastUsedAt, "never")
	}
	return instant(*k.LastUsedAt) + " from " + k.LastUsedAddress.String()
}

func scopes(list []access.Scope) string {
	if len(list) == len(access.Scopes()) {
		return "all"
	}
	return scopeNames(list, ",")
}

func join[T fmt.Stringer](list []T) string {
	texts := make([]string, 0, len(list))
	for _, v := range list {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, ",")
}

// printable is text that a terminal shows and doesn't obey, in one cell of a table.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}
