package main

import (
	"encoding/json"
	"io"
	"io/fs"
	"path"

	"callboard/cmd/process"
	"callboard/events"
)

type webhooksDescribeCommand struct {
	output
	Format string `enum:"all,asyncapi,openapi,schemas,vectors" default:"all" placeholder:"FORMAT" help:"What to print: asyncapi (AsyncAPI 3, YAML), openapi (OpenAPI 3.1, JSON), schemas (JSON Schema of the bodies), vectors (requests with signatures, for tests of a receiver), or all: the AsyncAPI and the OpenAPI document, as one YAML stream. With --json, a member for each, of which asyncapi is YAML in a string."`
}

// Run prints documents.
func (c *webhooksDescribeCommand) Run(streams process.Streams) error {
	members := make(map[string]any)
	var texts [][]byte
	for _, format := range c.formats() {
		name := documentNames()[format]
		text, err := fs.ReadFile(events.Documents(), name)
		if err != nil {
			return err
		}
		texts = append(texts, text)
		members[format] = string(text)
		if path.Ext(name) == ".json" {
			members[format] = json.RawMessage(text)
		}
	}
	return c.print(streams.Out, members, func(w io.Writer) error { return writeStream(w, texts) })
}

func (c *webhooksDescribeCommand) formats() []string {
	if c.Format == "all" {
		return []string{"asyncapi", "openapi"}
	}
	return []string{c.Format}
}

// documentNames are the names of the documents by format.
func documentNames() map[string]string {
	return map[string]string{
		"asyncapi": "webhooks.asyncapi.yaml", "openapi": "webhooks.openapi.json", "schemas": "schemas/webhook.schema.json",
		"vectors": "webhooks.vectors.json",
	}
}

// writeStream writes documents as a YAML stream. JSON is YAML.
func writeStream(w io.Writer, documents [][]byte) error {
	for i, document := range documents {
		if i > 0 {
			document = append([]byte("---\n"), document...)
		}
		if _, err := w.Write(document); err != nil {
			return err
		}
	}
	return nil
}
