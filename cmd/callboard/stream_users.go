package main

import (
	"io"

	"callboard/cmd/process"
	"callboard/deploy"
)

type streamUsersCommand struct {
	output
}

// Run prints the users, for a NATS server with another configuration.
func (c *streamUsersCommand) Run(streams process.Streams) error {
	accounts := deploy.NATSAccounts()
	return c.print(streams.Out, map[string]string{"configuration": accounts}, func(w io.Writer) error {
		_, err := io.WriteString(w, accounts)
		return err
	})
}
