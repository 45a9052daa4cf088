// Package setting reads callboard's settings: their names, their texts and their sources.
//
// A setting is a field of a program's kong structure whose type is a [Value]. Its text is the flag's. Without the flag it is the
// environment variable's that the tag "setting" names. With the tag "secret" it can also be in a file, which the same variable with
// the suffix _FILE names. Otherwise it is that of kong's tag "default". An empty variable counts as not set.
//
//	URL setting.NATSURL `name:"nats-url" setting:"CALLBOARD_NATS_URL" secret:"" missing:"set it to ..."`
//
// The tag "missing" makes a setting required, and its text says what to do. [Parse] reads all settings before it reports everything
// that is invalid or missing. The tag "requires" names another setting that must be set too.
//
// A value that holds a secret prints without it, whatever the verb or the encoder, and no error quotes the text of a secret.
package setting

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Parser parses the text of a setting. If the value is a secret, its errors must not contain the text.
type Parser[T any] interface {
	Parse(text string) (T, error)
}

// Value is one setting of a program.
type Value[T any, P Parser[T]] struct {
	value   T
	set     bool
	invalid error
}

// Get returns the setting's value: the zero value if it is not set and has no default.
func (v Value[T, P]) Get() T { return v.value }

// IsSet reports whether the setting has a value.
func (v Value[T, P]) IsSet() bool { return v.set }

// Format prints the value. Secret values print without the secret.
func (v Value[T, P]) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), v.value)
}

// Decode implements kong's MapperValue. It stores a parse error instead of returning it, so that [Parse] reports all of them together.
func (v *Value[T, P]) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("value")
	if err != nil {
		return err
	}
	*v = Value[T, P]{set: true}
	var parser P
	switch source := token.Value.(type) {
	case error: // the resolver's
		v.invalid = source
	case secretFile:
		v.value, v.invalid = load(source, parser)
	default:
		v.value, v.invalid = parser.Parse(fmt.Sprint(source))
	}
	return nil
}

// load reads and parses a file. A value that can be reloaded learns how.
func load[T any](file secretFile, parser Parser[T]) (T, error) {
	var none T
	text, err := file.read()
	if err != nil {
		return none, err
	}
	value, err := parser.Parse(text)
	if err != nil {
		return none, err
	}
	if reloadable, ok := any(value).(interface{ withReload(func() (T, error)) T }); ok {
		value = reloadable.withReload(func() (T, error) { return load(file, parser) })
	}
	return value, nil
}

func (v *Value[T, P]) state() (set bool, invalid error) { return v.set, v.invalid }

// anyValue is a Value of any type.
type anyValue interface {
	state() (set bool, invalid error)
}
