// Package run is what callboard's programs share: command line, settings, signals, exit codes, the actors of a server,
// and the admin listener.
//
//	Main ── settings ──> Run ── Stack: actors, started one after the other, stopped in the reverse order
//	  │        │                   │
//	  │        └ invalid: exit 2   └ each actor has a name and a goroutine
//	  └ SIGINT and SIGTERM end the context; a second signal kills the process
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"

	"callboard/internal/run/setting"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// The exit codes.
const (
	exitSuccess = 0
	exitFailure = 1
	exitUsage   = 2
)

// ErrFailed is returned by a command that has printed what is wrong: the program exits with 1 and prints nothing more.
var ErrFailed = errors.New("failed")

// UsageError says what is wrong with a command's arguments.
type UsageError struct {
	Detail string
}

// Error returns the detail.
func (e *UsageError) Error() string { return e.Detail }

// Main runs a program with the process's arguments, environment, streams and signals, and exits. program is a pointer
// to a kong structure. It, or its selected command, has a method Run(context.Context, Streams) error, which may omit or
// reorder its parameters.
func Main(name, description string, program any, options ...kong.Option) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default handling is restored, so a second one kills the process.
	context.AfterFunc(ctx, stop)
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	options = append(options, kong.Name(name), kong.Description(description))
	os.Exit(Run(ctx, program, os.Args[1:], setting.Environment, streams, options...))
}

// server is a program that serves, which runs without the name of a command, and what people and engines ask about it.
type server[P any] struct {
	Run         P                  `cmd:"" default:"withargs" help:"${description} This is the default."`
	Healthcheck HealthcheckCommand `cmd:"" help:"Ask the running program whether it is ready. Exit 1 unless it is; for containers without a shell."`
	Version     VersionCommand     `cmd:"" help:"Show the version of this build."`
}

// MainServer runs a program that serves, as [Main] does. P holds its settings and has its method Run. adminListen is
// the default of its admin address.
func MainServer[P any](name, description, adminListen string) {
	Main(name, description, &server[P]{}, kong.Vars{"admin_listen": adminListen, "description": description})
}

// Run runs a program and returns its exit code. The end of ctx asks the program to stop.
func Run(
	ctx context.Context, program any, args []string, getenv func(string) string, streams Streams, options ...kong.Option,
) int {
	options = append(options, kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(streams))
	command, err := setting.Parse(program, setting.Source{Args: args, Getenv: getenv, Out: streams.Out}, options...)
	switch {
	case errors.Is(err, setting.ErrHelp):
		return exitSuccess
	case err != nil:
		return usage(streams.Err, err)
	}

	// A command says in its error whether it has printed the reason itself.
	err = command.Run()
	var wrongUsage *UsageError
	switch {
	case err == nil:
		return exitSuccess
	case errors.As(err, &wrongUsage):
		return usage(streams.Err, err)
	case !errors.Is(err, ErrFailed):
		fmt.Fprintln(streams.Err, "error:", err)
	}

	return exitFailure
}

func usage(w io.Writer, err error) int {
	var invalid setting.InvalidError
	if errors.As(err, &invalid) {
		fmt.Fprintln(w, "error:", err)
	} else {
		fmt.Fprintf(w, "error: %s\nUse --help to list commands and flags.\n", redact(err.Error()))
	}
	return exitUsage
}

// redact removes user and password from the URLs in a text. A complaint about a command line can quote an argument that
// is a URL. A password that is not encoded can contain "@".
func redact(text string) string { return regexp.MustCompile(`://\S*@`).ReplaceAllString(text, "://") }

// NewLog returns a logger with the settings.
func NewLog(s setting.Log, w io.Writer) zerolog.Logger {
	if s.Format == "console" {
		w = Console(w)
	}
	level, err := zerolog.ParseLevel(s.Level)
	if err != nil {
		level = zerolog.InfoLevel
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// Console returns a writer of log messages for people.
func Console(w io.Writer) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: !HasColors(w)}
}

// IsTerminal reports whether w is a terminal that can move its cursor: TERM is not dumb.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && isatty.IsTerminal(f.Fd())
}

// HasColors reports whether w shows colors: it is a terminal, and NO_COLOR is not set (no-color.org).
func HasColors(w io.Writer) bool { return IsTerminal(w) && os.Getenv("NO_COLOR") == "" }

// relaxedGC is GOGC of a program that spends memory on fewer collections: the heap grows to five times what is in use.
const relaxedGC = 400

// LimitMemory limits the process's memory, unless GOMEMLIMIT does, and relaxes the garbage collector.
func LimitMemory(bytes int64) {
	const readOnly = -1
	if debug.SetMemoryLimit(readOnly) == math.MaxInt64 {
		debug.SetMemoryLimit(bytes)
	}
	RelaxGC()
}

// RelaxGC lets the garbage collector run less often in a process whose memory is limited by GOMEMLIMIT. Near the limit
// it runs as often as it has to. Without a limit, or where the operator set GOGC, nothing changes.
func RelaxGC() {
	const readOnly = -1
	if os.Getenv("GOGC") == "" && debug.SetMemoryLimit(readOnly) != math.MaxInt64 {
		debug.SetGCPercent(relaxedGC)
	}
}
