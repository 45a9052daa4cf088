//go:build ignore

// A NATS server whose wall clock a test sets. Each line of the standard input says by how much the clock is ahead of the
// machine's, as a duration. The process answers with the same line as soon as the clock is set. It starts the server after the
// first line and ends with its input, so that it does not outlive the test.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	options, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ExitOnError), os.Args[1:], nil, nil, nil)
	if err != nil {
		return err
	}
	var running *server.Server
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		ahead, err := time.ParseDuration(lines.Text())
		if err != nil {
			return err
		}
		time.SetWallClock(ahead)
		fmt.Println(ahead)
		if running == nil {
			if running, err = start(options); err != nil {
				return err
			}
		}
	}
	return nil
}

func start(options *server.Options) (*server.Server, error) {
	s, err := server.NewServer(options)
	if err != nil {
		return nil, err
	}
	return s, server.Run(s)
}
