package setting

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Kind reads the text of one kind of setting. Where its values are secrets, its errors must not hold the text.
type Kind[T any] interface {
	Parse(text string) (T, error)
}

// Value is one setting of a program.
type Value[T any, K Kind[T]] struct {
	value T
	given bool
	fault error
}

// Of is a setting with a value, for programs that are not started from a command line.
func Of[K Kind[T], T any](value T) Value[T, K] { return Value[T, K]{value: value, given: true} }

// Get is the setting's value: the zero value where it was not given and has no default.
func (v Value[T, K]) Get() T { return v.value }

// Given tells whether the setting has a value.
func (v Value[T, K]) Given() bool { return v.given }

// Format prints the value, which hides itself where it is a secret.
func (v Value[T, K]) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), v.value)
}

// Decode implements kong's MapperValue. A fault is kept rather than returned, so that all of them can be reported together.
func (v *Value[T, K]) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("value")
	if err != nil {
		return err
	}
	*v = Value[T, K]{given: true}
	switch text := token.Value.(type) {
	case error: // in place of the text, from a file that can't be read for example
		v.fault = text
	default:
		var kind K
		v.value, v.fault = kind.Parse(fmt.Sprint(text))
	}
	return nil
}

func (v *Value[T, K]) state() (given bool, fault error) { return v.given, v.fault }

// stateful is every Value.
type stateful interface {
	state() (given bool, fault error)
}
