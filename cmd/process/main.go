package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"callboard/cmd/setting"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// ErrFailed is the end of a command that has said itself what is wrong: exit 1 without another word.
var ErrFailed = errors.New("failed")

// UsageError is what is wrong with a command's arguments.
type UsageError struct {
	Detail string
}

// Error is the detail.
func (e *UsageError) Error() string { return e.Detail }

// Main runs a program of this process and exits. program is a pointer to a kong structure; it, or the command chosen of it, has
// a method Run(context.Context, Streams) error, with the parameters in any order or left out.
func Main(name, description string, program any, options ...kong.Option) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once the first signal is heard, the second finds nobody listening and ends the process as signals do.
	context.AfterFunc(ctx, stop)
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	options = append(options, kong.Name(name), kong.Description(description))
	os.Exit(Run(ctx, program, os.Args[1:], setting.Environment, streams, options...))
}

// Run runs a program until it ends or ctx does, and returns its exit code.
func Run(
	ctx context.Context, program any, args []string, getenv func(string) string, streams Streams, options ...kong.Option,
) int {
	options = append(options, kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(streams))
	command, err := setting.Parse(program, setting.Source{Args: args, Getenv: getenv, Out: streams.Out}, options...)
	switch {
	case errors.Is(err, setting.ErrHelp):
		return exitDone
	case err != nil:
		return usage(streams.Err, err)
	}
	err = command.Run()
	var misuse *UsageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &misuse):
		return usage(streams.Err, err)
	case !errors.Is(err, ErrFailed):
		fmt.Fprintln(streams.Err, "error:", err)
	}
	return exitFailed
}

func usage(w io.Writer, err error) int {
	var faults *setting.FaultsError
	if errors.As(err, &faults) {
		fmt.Fprintln(w, "error:", err)
	} else {
		fmt.Fprintf(w, "error: %s\n--help shows what there is.\n", setting.Redact(err.Error()))
	}
	return exitUsage
}
