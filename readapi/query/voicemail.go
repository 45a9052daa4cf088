package query

import _ "embed" // the statements

//go:embed list_voicemails.sql
var listVoicemailsSQL string

//go:embed get_voicemail.sql
var getVoicemailSQL string

// Voicemails are a system's voicemails.
func (p *Projection) Voicemails() *List {
	return p.list("voicemails", source{counted: "voicemail", rows: listVoicemailsSQL})
}

// Voicemail is a voicemail with its transcript's text, which is null exactly where the status isn't completed.
func (p *Projection) Voicemail() *Detail { return p.detail("voicemail", getVoicemailSQL, "id") }
