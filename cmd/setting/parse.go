package setting

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// Source is where a program's flags and settings come from, and where its help goes.
type Source struct {
	Args   []string
	Getenv func(name string) string
	Out    io.Writer
}

// Environment is the process's own. No other package asks for it.
func Environment(name string) string { return os.Getenv(name) }

// ErrHelp is returned once help has been printed, and there is nothing else to do.
var ErrHelp = errors.New("help was asked for")

// The tags of a setting's field, beside kong's own.
const (
	nameTag    = "setting"
	secretTag  = "secret"
	missingTag = "missing"

	fileSuffix = "_FILE"
)

// Parse fills program, a pointer to a kong structure. The error is a [*FaultsError] where settings are at fault, [ErrHelp], or
// what is wrong with the command line.
func Parse(program any, source Source, options ...kong.Option) (command *kong.Context, err error) {
	defer func() {
		if stop := recover(); stop == helped {
			command, err = nil, ErrHelp
		} else if stop != nil {
			panic(stop)
		}
	}()
	parser, err := kong.New(program, append([]kong.Option{
		kong.Writers(source.Out, source.Out),
		kong.Resolvers(kong.ResolverFunc(source.resolve)),
		kong.ValueFormatter(describe),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.Exit(func(int) { panic(helped) }),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("command line: %w", err)
	}
	command, err = parser.Parse(source.Args)
	if err != nil {
		return nil, err
	}
	return command, check(command)
}

// helped ends kong's work after its help, since it would go on to complain of what the command line lacks.
const helped = kongExit("help")

type kongExit string

// resolve is a flag's text where the command line does not have it. An error is handed on as the text, to be reported with others.
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
			return fmt.Errorf("%s is set too: keep one of the two", name+fileSuffix), nil
		case file != "":
			return fromFile(name+fileSuffix, file), nil
		}
	}
	if text == "" {
		return nil, nil
	}
	return text, nil
}

// fromFile is a file's content without the line break that editors put at the end, or an error.
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

// describe is a flag's help with the names of its environment variables.
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

// check gathers what is wrong with the settings of the command that was chosen.
func check(command *kong.Context) error {
	var faults []Fault
	for _, flag := range command.Flags() {
		value, ok := flag.Target.Addr().Interface().(stateful)
		if !ok {
			continue
		}
		f := Fault{Setting: flag.Tag.Get(nameTag), Flag: "--" + flag.Name}
		switch given, fault := value.state(); {
		case fault != nil:
			f.Detail = fault.Error()
		case !given && flag.Tag.Has(missingTag):
			f.Detail = "is missing: " + flag.Tag.Get(missingTag)
		default:
			continue
		}
		faults = append(faults, f)
	}
	if len(faults) > 0 {
		return &FaultsError{Faults: faults}
	}
	return nil
}
