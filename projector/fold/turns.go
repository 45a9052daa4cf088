package fold

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"callboard/events"
)

// appendTurns appends turns as JSON text in the contract's form, with the bytes that jsonArray gives. Turns are
// most of the JSON that is stored, so they are not marshalled by reflection. It panics at a text that is not valid
// UTF-8, and expects finite numbers: Decode refuses others.
func appendTurns(dst []byte, turns []events.Turn) []byte {
	dst = append(dst, '[')
	for i, turn := range turns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTurn(dst, turn)
	}
	return append(dst, ']')
}

func appendTurn(dst []byte, t events.Turn) []byte {
	dst = appendText(append(dst, `{"text":`...), t.Text)
	dst = appendSpeaker(append(dst, `,"speaker":`...), t.Speaker)
	dst = appendFloat(append(dst, `,"startSeconds":`...), t.StartSeconds)
	dst = appendFloat(append(dst, `,"endSeconds":`...), t.EndSeconds)
	dst = appendFloat(append(dst, `,"confidence":`...), t.Confidence)
	return append(dst, '}')
}

func appendSpeaker(dst []byte, s events.Speaker) []byte {
	dst = appendText(append(dst, `{"kind":`...), s.Kind)
	if s.Role != "" {
		dst = appendText(append(dst, `,"role":`...), s.Role)
	}
	if s.Ordinal.Valid {
		dst = strconv.AppendInt(append(dst, `,"ordinal":`...), s.Ordinal.Value, 10)
	}
	return append(dst, '}')
}

func appendText(dst []byte, text string) []byte {
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		panic("fold: encode a decoded text: " + err.Error())
	}
	return dst
}

// appendFloat appends a number, or null.
func appendFloat(dst []byte, n events.Null[float64]) []byte {
	if !n.Valid {
		return append(dst, "null"...)
	}
	return jsontext.AppendFloat(dst, n.Value, 64)
}
