package events

import (
	"embed"
	"io/fs"
)

// The JSON Schemas of the events' data, and the AsyncAPI document that says which travels where.
//
//go:embed schemas/*.schema.json asyncapi.yaml
var documents embed.FS

// Schema is the JSON Schema (2020-12) of an entity's state: the data of its "changed" event. It refers to defs.schema.json, which
// lies beside it in [Documents]. Nil for an entity that is none.
func Schema(entity Entity) []byte {
	if !known(entity) {
		return nil
	}
	data, _ := documents.ReadFile("schemas/" + string(entity) + ".schema.json")
	return data
}

// DeletionSchema is the JSON Schema of the data of all "deleted" events, each under its entity's name in $defs.
func DeletionSchema() []byte {
	data, _ := documents.ReadFile("schemas/deletion.schema.json")
	return data
}

// AsyncAPI is the AsyncAPI 3 document of all channels and messages, in YAML. It refers to the schemas by their place in [Documents].
func AsyncAPI() []byte {
	data, _ := documents.ReadFile("asyncapi.yaml")
	return data
}

// Documents are asyncapi.yaml and the folder schemas that it refers to.
func Documents() fs.FS { return documents }
