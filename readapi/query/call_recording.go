package query

import _ "embed" // the statement

//go:embed list_call_recordings.sql
var listCallRecordingsSQL string

// CallRecordings are the recordings of a system's calls that are there or will be.
func (p *Projection) CallRecordings() *List {
	return p.list("call recordings", source{
		counted: "recording",
		rows:    listCallRecordingsSQL,
		picks:   []condition{equals(CallSid)},
		divides: equals(Status),
	})
}

// CallRecording is a recording, with no more than the list says of it.
func (p *Projection) CallRecording() *Detail {
	return p.detail("call recording", listCallRecordingsSQL, "recording_sid")
}
