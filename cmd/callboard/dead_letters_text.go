package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cut is the text, or as many characters of it and an ellipsis.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// legible is data as people read it: JSON in lines, anything else as text, and escapes for what a terminal would obey.
func legible(data []byte) string {
	var lines bytes.Buffer
	if utf8.Valid(data) && json.Indent(&lines, data, "", "  ") == nil {
		data = lines.Bytes()
	}
	var b strings.Builder
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, data[0])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			escaped := strconv.QuoteRuneToASCII(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		}
		data = data[size:]
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// head is the beginning of text, at most so many bytes of whole characters, and how many bytes are left out.
func head(text string, most int) (beginning string, rest int) {
	if len(text) <= most {
		return text, 0
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], len(text) - most
}

// someIDs names the first few of many letters.
func someIDs(ids []int64) string {
	const most = 10
	names := make([]string, 0, most)
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, strconv.FormatInt(id, 10))
	}
	text := "ID " + strings.Join(names, ", ")
	if len(ids) > most {
		text += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return text
}

// counted is a number of dead letters in words.
func counted(n int) string {
	if n == 1 {
		return "1 dead letter"
	}
	return strconv.Itoa(n) + " dead letters"
}
