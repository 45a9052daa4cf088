// Package setting reads callboard's settings: their names, their texts and their sources.
//
// A setting is a flag of a program's kong structure with the tag "setting". Its environment variable is named after the
// flag: --nats-url is CALLBOARD_NATS_URL. Kong's tag "type" names how the text is read; see kinds.go.
//
//	Listen string `setting:"" type:"address" default:":8080" help:"The address of the API."`
//
// Its text is the flag's, otherwise the variable's, otherwise the default's. An empty variable counts as not set. With
// the tag "secret" the text can also be in a file, which the variable with the suffix _FILE names.
//
// The tag "missing" makes a setting required, and its text says what to do. [Parse] reads all settings before it
// reports everything that is invalid or missing.
//
// A value that holds a secret prints without it, whatever the verb or the encoder, and no error quotes the text of a
// secret.
package setting

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// Source is where a program's arguments and settings come from, and where its help is written.
type Source struct {
	Args   []string
	Getenv func(name string) string
	Out    io.Writer
}

// Environment reads the process's environment. No other package does.
func Environment(name string) string { return os.Getenv(name) }

// ErrHelp says that the help was printed and there is nothing else to do.
var ErrHelp = errors.New("help requested")

// InvalidError lists a program's invalid and missing settings: for each one its names, what is wrong and what to do.
type InvalidError []string

// Error has a line for each setting.
func (e InvalidError) Error() string { return "invalid settings:\n  " + strings.Join(e, "\n  ") }

// Parse fills program, a pointer to a kong structure. The error is an [InvalidError] about settings, [ErrHelp], or
// kong's about the command line.
func Parse(program any, source Source, options ...kong.Option) (*kong.Context, error) {
	r := &reader{getenv: source.Getenv, invalid: make(map[*kong.Value]error)}
	helped := false

	// Kong would end the process after the help. Here it only notes that it has printed the help.
	options = append([]kong.Option{
		kong.Writers(source.Out, source.Out),
		kong.Resolvers(kong.ResolverFunc(r.resolve)),
		kong.ValueFormatter(describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Help(printHelp),
		kong.Exit(func(int) { helped = true }),
	}, options...)

	parser, err := kong.New(program, append(options, r.mappers()...)...)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", err)
	}

	// After the help kong goes on and finds, for example, that arguments are missing.
	command, err := parser.Parse(source.Args)
	switch {
	case helped:
		return nil, ErrHelp
	case err != nil:
		return nil, err
	}

	return command, r.validate(command)
}

// printHelp prints the help of the selected command, and without one that of the program together with its default
// command's flags.
func printHelp(options kong.HelpOptions, command *kong.Context) error {
	if program := command.Model; command.Selected() == nil && program.DefaultCmd != nil {
		program.Flags = append(program.Flags, program.DefaultCmd.Flags...)
	}
	return kong.DefaultHelpPrinter(options, command)
}

// describe returns a flag's help with the names of its environment variables.
func describe(value *kong.Value) string {
	name := variable(value)
	if name == "" {
		return kong.DefaultHelpValueFormatter(value)
	}
	if value.Tag.Has("secret") {
		name += "[" + fileSuffix + "]"
	}
	return value.Help + " ($" + name + ")"
}

const fileSuffix = "_FILE"

// variable returns the name of a flag's environment variable, empty if the flag is no setting. The tag "setting" can
// name another one than the flag's.
func variable(value *kong.Value) string {
	if !value.Tag.Has("setting") {
		return ""
	}
	return "CALLBOARD_" + strings.ToUpper(strings.ReplaceAll(cmp.Or(value.Tag.Get("setting"), value.Name), "-", "_"))
}

// reader reads the settings of one program. It notes what is invalid, so that [Parse] can report all of it together.
type reader struct {
	getenv  func(name string) string
	invalid map[*kong.Value]error
}

// resolve returns the text of a flag that the command line does not have, or its file.
func (r *reader) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	name := variable(flag.Value)
	if name == "" {
		return nil, nil
	}

	text, file := r.getenv(name), ""
	if flag.Tag.Has("secret") {
		file = r.getenv(name + fileSuffix)
	}

	// One of the two may be set. An empty variable counts as not set.
	switch {
	case text != "" && file != "":
		r.invalid[flag.Value] = fmt.Errorf("is set, and %s too: unset one of the two", name+fileSuffix)
	case file != "":
		return secretFile(file), nil
	case text != "":
		return text, nil
	}
	return nil, nil
}

// secretFile is the path of a secret's file.
type secretFile string

// mapper is kong's mapper of the settings of one kind.
type mapper struct {
	*reader
	parse parser
}

// Decode implements [kong.Mapper]. It notes what is wrong with a text instead of returning it.
func (m mapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("value")
	if err != nil {
		return err
	}

	// The text of a secret can be in a file, which is read only now.
	var value any
	if file, ok := token.Value.(secretFile); ok {
		value, err = m.load(file, ctx.Value)
	} else {
		value, err = m.parse(fmt.Sprint(token.Value), ctx.Value)
	}

	// What is invalid is reported together with the others.
	switch {
	case err != nil:
		m.invalid[ctx.Value] = err
	case target.Kind() == reflect.Slice: // of a flag that can be repeated
		target.Set(reflect.AppendSlice(target, reflect.ValueOf(value)))
	default:
		target.Set(reflect.ValueOf(value))
	}
	return nil
}

// load parses the content of a file, without line breaks at its end. A URL learns how it is read again.
func (m mapper) load(file secretFile, flag *kong.Value) (any, error) {
	content, err := os.ReadFile(string(file))
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", err)
	}
	value, err := m.parse(strings.TrimRight(string(content), "\r\n"), flag)
	return reloadable(value, func() (any, error) { return m.load(file, flag) }), err
}

// validate returns an [InvalidError] for the settings of the selected command.
func (r *reader) validate(command *kong.Context) error {
	var list InvalidError
	for _, flag := range command.Flags() {
		names := "--" + flag.Name
		if name := variable(flag.Value); name != "" {
			names = name + " (" + names + ")"
		}

		// A setting that is invalid is not reported as missing, too.
		if err := r.invalid[flag.Value]; err != nil {
			list = append(list, names+" "+err.Error())
		} else if missing := flag.Tag.Get("missing"); missing != "" && !flag.Set {
			list = append(list, names+" is missing: "+missing)
		}
	}

	if len(list) > 0 {
		return list
	}
	return nil
}
