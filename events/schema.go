package events

import (
	"embed"
	"io/fs"
)

// The JSON Schemas of the events' data, and the AsyncAPI document of subjects and messages.
//
//go:embed schemas/*.schema.json asyncapi.yaml
var documents embed.FS

// Schema returns the JSON Schema (2020-12) of an entity's state, the data of its "changed" event, or nil if the entity is unknown. It
// refers to defs.schema.json in the same folder of [Documents].
func Schema(entity Entity) []byte {
	if !known(entity) {
		return nil
	}
	data, _ := documents.ReadFile("schemas/" + string(entity) + ".schema.json")
	return data
}

// DeletionSchema returns the JSON Schema of the data of all "deleted" events, each under its entity's name in $defs.
func DeletionSchema() []byte {
	data, _ := documents.ReadFile("schemas/deletion.schema.json")
	return data
}

// AsyncAPI returns the AsyncAPI 3 document of all channels and messages, in YAML. It refers to the schemas by their paths in [Documents].
func AsyncAPI() []byte {
	data, _ := documents.ReadFile("asyncapi.yaml")
	return data
}

// Documents returns asyncapi.yaml and the folder schemas, to which it refers.
func Documents() fs.FS { return documents }
