// Command describe prints the OpenAPI description of all approved operations. It belongs to the module callboard.
package main

import (
	"fmt"
	"os"

	"callboard/readapi/docs"
)

func main() {
	if err := describe(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func describe() error {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		return err
	}
	description, err := docs.Describe("https://phones.example.com/v1", approvals)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(description)
	return err
}
