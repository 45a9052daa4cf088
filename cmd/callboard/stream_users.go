package main

import (
	"io"

	"callboard/cmd/process"
	"callboard/deploy"
)

type streamUsersCommand struct {
	output
}

// natsAccounts is the JSON of the users.
type natsAccounts struct {
	Configuration string `json:"configuration"` // a part of one of a NATS server
}

// Run prints the users, for a NATS server with another configuration.
func (c *streamUsersCommand) Run(streams process.Streams) error {
	accounts := natsAccounts{Configuration: deploy.NATSAccounts()}
	return c.print(streams.Out, accounts, func(w io.Writer) error {
		_, err := io.WriteString(w, accounts.Configuration)
		return err
	})
}
