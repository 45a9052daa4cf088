package fold

import (
	"github.com/go-json-experiment/json"

	"callboard/events"
)

// array is a list as JSON text in the contract's shape; an empty one is "[]".
func array[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	return jsonText(list)
}

// object is a nested value as JSON text in the contract's shape.
func object[T any](value *T) events.Null[string] {
	if value == nil {
		return events.Null[string]{}
	}
	return events.Some(jsonText(value))
}

// jsonText can't fail: the values were decoded from JSON by a reader that refuses what JSON can't write.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("fold: a decoded value that can't be encoded: " + err.Error())
	}
	return string(text)
}
