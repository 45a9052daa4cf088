// Package deploy has the parts of the deployment that programs print.
package deploy

import (
	_ "embed"
	"strings"
)

//go:embed nats.conf
var natsConfiguration string

// accountsBegin is the line with which the accounts begin in nats.conf. They are its end.
const accountsBegin = "system_account:"

// NATSAccounts returns the accounts of nats.conf, with a user for each kind of program and what it may do, as a part of a configuration of a NATS
// server. Passwords are variables, such as $reader_password.
func NATSAccounts() string {
	_, accounts, _ := strings.Cut(natsConfiguration, "\n"+accountsBegin)
	return accountsBegin + accounts
}
