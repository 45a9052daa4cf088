package events

import (
	"embed"
	"io/fs"
)

//go:embed schemas/*.schema.json asyncapi.yaml
var documents embed.FS

// Documents returns the AsyncAPI 3 document of all channels and messages, asyncapi.yaml, and the JSON Schemas (2020-12) of the events'
// data, to which it refers: schemas/<entity>.schema.json for "changed" events, and schemas/deletion.schema.json for "deleted" ones,
// with each entity in $defs.
func Documents() fs.FS { return documents }
