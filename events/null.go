package events

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Null is a T or JSON null. The zero value is null, and two Nulls compare with ==.
type Null[T comparable] struct {
	Value T
	Valid bool
}

// Some returns the Null that holds v.
func Some[T comparable](v T) Null[T] { return Null[T]{Value: v, Valid: true} }

// MarshalJSON implements [json.Marshaler].
func (n Null[T]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.Value)
}

// MarshalJSONTo implements [json.MarshalerTo]. Unlike MarshalJSON, it needs no buffer for each value.
func (n Null[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if !n.Valid {
		return enc.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(enc, &n.Value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Null[T]) UnmarshalJSON(data []byte) error {
	*n = Null[T]{}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	n.Valid = true
	return json.Unmarshal(data, &n.Value)
}
