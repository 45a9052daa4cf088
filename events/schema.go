package events

import (
	"embed"
	"io/fs"
)

//go:embed schemas/*.schema.json asyncapi.yaml webhooks.asyncapi.yaml webhooks.openapi.json webhooks.vectors.json
var documents embed.FS

// Documents returns the AsyncAPI 3 document of all channels and messages, asyncapi.yaml, and the JSON Schemas
// (2020-12) of the events' data, to which it refers: schemas/<entity>.schema.json for "changed" events, and
// schemas/deletion.schema.json for "deleted" ones, with each entity in $defs.
//
// For webhooks it has an AsyncAPI 3 document, webhooks.asyncapi.yaml, an OpenAPI 3.1 document,
// webhooks.openapi.json, the JSON Schema of their bodies, schemas/webhook.schema.json, with each kind in $defs, and
// test vectors of signatures, webhooks.vectors.json. Each is complete by itself.
func Documents() fs.FS { return documents }
