package main

import (
	"fmt"
	"io/fs"

	"callboard/cmd/process"
	"callboard/events"
)

type webhooksDescribeCommand struct {
	Format string `enum:"all,asyncapi,openapi,schemas,vectors" default:"all" placeholder:"FORMAT" help:"What to print: asyncapi (AsyncAPI 3, YAML), openapi (OpenAPI 3.1, JSON), schemas (JSON Schema of the bodies), vectors (requests with signatures, for tests of a receiver), or all: the AsyncAPI and the OpenAPI document, as one YAML stream."`
}

// Run prints documents.
func (c *webhooksDescribeCommand) Run(streams process.Streams) error {
	for i, name := range c.documents() {
		text, err := fs.ReadFile(events.Documents(), name)
		if err != nil {
			return err
		}
		if i > 0 { // JSON is YAML
			text = append([]byte("---\n"), text...)
		}
		if _, err := streams.Out.Write(text); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

func (c *webhooksDescribeCommand) documents() []string {
	switch c.Format {
	case "asyncapi":
		return []string{"webhooks.asyncapi.yaml"}
	case "openapi":
		return []string{"webhooks.openapi.json"}
	case "schemas":
		return []string{"schemas/webhook.schema.json"}
	case "vectors":
		return []string{"webhooks.vectors.json"}
	}
	return []string{"webhooks.asyncapi.yaml", "webhooks.openapi.json"}
}
