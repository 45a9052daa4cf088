package setting

import (
	"errors"
	"fmt"
	"io"
	"os"
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

// Invalid is an invalid or missing setting.
type Invalid struct {
	Setting string // the environment variable; empty if the flag has none
	Flag    string
	Detail  string // what is wrong and what to do
}

// InvalidError lists a program's invalid and missing settings.
type InvalidError struct {
	Settings []Invalid
}

// Error has a line for each setting.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("invalid settings:")
	for _, s := range e.Settings {
		name := s.Flag
		if s.Setting != "" {
			name = s.Setting + " (" + s.Flag + ")"
		}
		b.WriteString("\n  " + name + " " + s.Detail)
	}
	return b.String()
}

// The tags of a setting's field, beside kong's own.
const (
	nameTag    = "setting"
	secretTag  = "secret"
	missingTag = "missing"

	fileSuffix = "_FILE"
)

// Parse fills program, a pointer to a kong structure. The error is an [*InvalidError] about settings, [ErrHelp], or kong's about the
// command line.
func Parse(program any, source Source, options ...kong.Option) (command *kong.Context, err error) {
	defer func() {
		if exit := recover(); exit == helpPrinted {
			command, err = nil, ErrHelp
		} else if exit != nil {
			panic(exit)
		}
	}()
	parser, err := kong.New(program, append([]kong.Option{
		kong.Writers(source.Out, source.Out),
		kong.Resolvers(kong.ResolverFunc(source.resolve)),
		kong.ValueFormatter(describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Exit(func(int) { panic(helpPrinted) }),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", err)
	}
	command, err = parser.Parse(source.Args)
	if err != nil {
		return nil, err
	}
	return command, validate(command)
}

// helpPrinted is what kong's exit function panics with. If it returned, kong would go on and report missing arguments.
const helpPrinted = kongExit("help")

type kongExit string

// resolve returns the text of a flag that the command line does not have. It returns an error as the text, so that [Parse] can report
// it together with others.
func (s Source) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	name := flag.Tag.Get(nameTag)
	if name == "" {
		return nil, nil
	}
	text := s.Getenv(name)
	if flag.Tag.Has(secretTag) {
		file := s.Getenv(name + fileSuffix)
		switch {
		case file != "" && text != "":
			return fmt.Errorf("%s is set too: unset one of the two", name+fileSuffix), nil
		case file != "":
			return fromFile(name+fileSuffix, file), nil
		}
	}
	if text == "" {
		return nil, nil
	}
	return text, nil
}

// fromFile returns a file's content without line breaks at its end, or an error.
func fromFile(name, path string) any {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if text := strings.TrimRight(string(content), "\r\n"); text != "" {
		return text
	}
	return fmt.Errorf("%s: %s is empty", name, path)
}

// describe returns a flag's help with the names of its environment variables.
func describe(value *kong.Value) string {
	name := value.Tag.Get(nameTag)
	if name == "" {
		return kong.DefaultHelpValueFormatter(value)
	}
	if value.Tag.Has(secretTag) {
		name += "[" + fileSuffix + "]"
	}
	return value.Help + " ($" + name + ")"
}

// validate returns an [*InvalidError] for the settings of the selected command.
func validate(command *kong.Context) error {
	var list []Invalid
	for _, flag := range command.Flags() {
		value, ok := flag.Target.Addr().Interface().(anyValue)
		if !ok {
			continue
		}
		s := Invalid{Setting: flag.Tag.Get(nameTag), Flag: "--" + flag.Name}
		switch set, invalid := value.state(); {
		case invalid != nil:
			s.Detail = invalid.Error()
		case !set && flag.Tag.Has(missingTag):
			s.Detail = "is missing: " + flag.Tag.Get(missingTag)
		default:
			continue
		}
		list = append(list, s)
	}
	if len(list) > 0 {
		return &InvalidError{Settings: list}
	}
	return nil
}
