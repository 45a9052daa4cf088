package docs

import (
	"bytes"
	"encoding/json"
)

// ordered is a JSON object that keeps the order of its members, so that the served description reads in the order of
// the files.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *ordered[T]) UnmarshalJSON(data []byte) error {
	decoder := strictDecoder(data)

	// The first token is the opening brace.
	if _, err := decoder.Token(); err != nil {
		return err
	}

	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}

		var value T
		if err := decoder.Decode(&value); err != nil {
			return err
		}

		*o = append(*o, member[T]{name.(string), value})
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}

		for _, part := range []any{m.name, m.value} {
			text, err := encode(part)
			if err != nil {
				return nil, err
			}
			b = append(append(b, text...), ':')
		}

		// Both parts have a colon after them, but a value needs none.
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

func strictDecoder(data []byte) *json.Decoder {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder
}

// encode returns JSON in which <, > and & are not escaped.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}
