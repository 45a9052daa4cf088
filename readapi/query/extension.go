package query

import _ "embed" // the statements

//go:embed list_extensions.sql
var listExtensionsSQL string

//go:embed get_extension.sql
var getExtensionSQL string

// Extensions are a system's extensions.
func (p *Projection) Extensions() *List {
	return p.list("extensions", source{
		counted: "extension",
		rows:    listExtensionsSQL,
		picks:   []condition{equals(Number)},
		divides: equals(Status),
	})
}

// Extension is an extension with its phones and what happens to calls that it doesn't answer.
func (p *Projection) Extension() *Detail { return p.detail("extension", getExtensionSQL, "id") }
