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

	// requiresTag names another setting without which this one is invalid.
	requiresTag = "requires"

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
		kong.Help(printHelp),
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
			return secretFile{name: name + fileSuffix, path: file}, nil
		}
	}
	if text == "" {
		return nil, nil
	}
	return text, nil
}

// secretFile is the file of a secret.
type secretFile struct {
	name string // of the environment variable
	path string
}

// read returns the content without line breaks at its end.
func (f secretFile) read() (string, error) {
	content, err := os.ReadFile(f.path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.name, err)
	}
	if text := strings.TrimRight(string(content), "\r\n"); text != "" {
		return text, nil
	}
	return "", fmt.Errorf("%s: %s is empty", f.name, f.path)
}

// printHelp prints the help of the selected command, and without one that of the program together with its default command's flags.
func printHelp(options kong.HelpOptions, command *kong.Context) error {
	if program := command.Model; command.Selected() == nil && program.DefaultCmd != nil {
		program.Flags = append(program.Flags, program.DefaultCmd.Flags...)
	}
	return kong.DefaultHelpPrinter(options, command)
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
	settings := make(map[string]anyValue)
	for _, flag := range command.Flags() {
		if value, ok := flag.Target.Addr().Interface().(anyValue); ok {
			settings[flag.Tag.Get(nameTag)] = value
		}
	}
	var list []Invalid
	for _, flag := range command.Flags() {
		value, ok := flag.Target.Addr().Interface().(anyValue)
		if !ok {
			continue
		}
		if detail := detailOf(flag, value, settings); detail != "" {
			list = append(list, Invalid{Setting: flag.Tag.Get(nameTag), Flag: "--" + flag.Name, Detail: detail})
		}
	}
	if len(list) > 0 {
		return &InvalidError{Settings: list}
	}
	return nil
}

// detailOf returns what is wrong with a setting, and an empty text if nothing is.
func detailOf(flag *kong.Flag, value anyValue, settings map[string]anyValue) string {
	set, invalid := value.state()
	if invalid != nil {
		return invalid.Error()
	}
	if !set && flag.Tag.Has(missingTag) {
		return "is missing: " + flag.Tag.Get(missingTag)
	}
	if set && flag.Tag.Has(requiresTag) {
		if required, _ := settings[flag.Tag.Get(requiresTag)].state(); !required {
			return "needs " + flag.Tag.Get(requiresTag) + ": set both or none"
		}
	}
	return ""
}
