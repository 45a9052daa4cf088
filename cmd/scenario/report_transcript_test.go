package scenario_test

import "callboard/events"

func rowsWithoutTranscripts(w *world) {
	for _, parameter := range []string{"", "includeTranscripts=false"} {
		for _, row := range w.read(w.key, w.home("/call-log-reports?"+march+"&"+parameter))["data"].([]any) {
			if _, ok := row.(map[string]any)["transcript"]; ok {
				w.t.Errorf("%q: %v has a transcript", parameter, row)
			}
		}
	}
}

func withTranscript(w *world) {
	turn := func(text string, speaker fields, start, end, confidence any) fields {
		return fields{"text": text, "speaker": speaker, "startSeconds": start, "endSeconds": end, "confidence": confidence}
	}
	w.isReport(w.report(w.key, w.harbour, w.full, "includeTranscripts=true"), w.reportRow().and(fields{"transcript": fields{
		"text": "Good morning. \"Hi\", two\nlines.",
		"turns": []fields{
			turn("Good morning.", fields{"kind": "role", "role": "agent"}, 0.5, 2.25, 0.98),
			turn("\"Hi\", two", fields{"kind": "numbered", "ordinal": 2}, nil, nil, nil),
			turn("lines.", fields{"kind": "unattributed"}, nil, nil, nil),
		},
	}}))
}

// transcriptOf publishes a transcript and holds it against what a report row has of it.
func (o *office) transcriptOf(edit func(*events.Transcript), status string, want any) {
	o.t.Helper()
	state := transcript(o.system, o.call, o.next(), events.TranscriptCompleted, "Words.")
	edit(state)
	o.happen(events.Changed(state))
	o.holds("the row", o.row(), fields{"transcriptionStatus": status, "transcript": want})
}

func noTextToReport(w *world) {
	o := w.office()
	o.holds("never transcribed", o.row(), fields{"transcriptionStatus": "unavailable", "transcript": nil})
	for status, shows := range map[string]string{"queued": "processing", "running": "processing", "failed": "failed", "skipped": "unavailable"} {
		o := w.office()
		o.transcriptOf(func(t *events.Transcript) { t.Status, t.Text = status, events.Null[string]{} }, shows, nil)
	}
}

func timingsNeverRecorded(w *world) {
	o, voice := w.office(), events.Speaker{Kind: "unattributed"}
	unattributed := fields{"kind": "unattributed"}
	o.transcriptOf(func(t *events.Transcript) {
		t.Turns = []events.Turn{
			{Text: "Wor", Speaker: voice}, {Text: "ds.", Speaker: voice, StartSeconds: events.Some(0.0), EndSeconds: events.Some(0.0), Confidence: events.Some(0.0)},
		}
	}, "completed", fields{"text": "Words.", "turns": []fields{
		{"text": "Wor", "speaker": unattributed, "startSeconds": nil, "endSeconds": nil, "confidence": nil},
		{"text": "ds.", "speaker": unattributed, "startSeconds": 0, "endSeconds": 0, "confidence": 0},
	}})
}

func textWithoutTurns(w *world) {
	o := w.office()
	o.transcriptOf(func(t *events.Transcript) { t.Turns = nil }, "completed", fields{"text": "Words.", "turns": []any{}})
	o.transcriptOf(func(t *events.Transcript) { t.Text = events.Some("") }, "completed", fields{"text": "", "turns": []any{}})
	o.transcriptOf(func(t *events.Transcript) {
		t.Text = events.Null[string]{}
		t.Turns = []events.Turn{{Text: "Words.", Speaker: events.Speaker{Kind: "unattributed"}}}
	}, "completed", fields{"text": "", "turns": []any{}})
}

func speakers(w *world) {
	o := w.office()
	said := &events.Transcript{PhoneSystemID: o.system, CallID: events.Some(o.call), Version: o.next(), Status: "completed", Text: events.Some("Words.")}
	for _, s := range []events.Speaker{
		{Kind: "role", Role: "agent"}, {Kind: "role", Role: "customer"}, {Kind: "numbered", Ordinal: events.Some[int64](0)}, {Kind: "unattributed"},
	} {
		said.Turns = append(said.Turns, events.Turn{Text: "W", Speaker: s})
	}
	want := []any{
		fields{"kind": "role", "role": "agent"}, fields{"kind": "role", "role": "customer"}, fields{"kind": "numbered", "ordinal": 0},
		fields{"kind": "unattributed"},
	}
	o.happen(events.Changed(said))
	o.is("the speakers", column(at(o.row(), "transcript.turns"), "speaker"), want)

	said.Version = o.next()
	for _, other := range []string{`{"kind":"role","role":"robot"}`, `{"kind":"numbered"}`, `{"kind":"narrator"}`, `{"kind":"numbered","ordinal":1.5}`} {
		o.tampered(events.Changed(said), `{"kind":"role","role":"customer"}`, other)
		o.is("the speakers after "+other, column(at(o.row(), "transcript.turns"), "speaker"), want)
	}
}

// Turns of an attempt without text show nowhere, whatever became of it.
func turnsWithoutText(w *world) {
	for status, shows := range map[string]string{"failed": "failed", "skipped": "unavailable", "running": "processing", "removed": "unavailable"} {
		o := w.office()
		o.transcriptOf(func(t *events.Transcript) {
			t.Status, t.Text = status, events.Null[string]{}
			t.Turns = []events.Turn{{Text: "Words.", Speaker: events.Speaker{Kind: "unattributed"}}}
		}, shows, nil)
		o.holds("the detail", o.detail(), fields{"transcriptionStatus": shows, "transcribedText": nil})
	}
}
