package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
)

// transcriptStep is what is published, with its text, and what is shown then.
type transcriptStep struct {
	status, says string
	shows        string
	text         any
}

// transcribes publishes one transcription status of a call after the other, and holds each against the call's detail and its
// report row.
func transcribes(steps ...transcriptStep) func(*world) {
	return func(w *world) {
		w.t.Helper()
		o := w.office()
		for _, s := range steps {
			o.happen(o.transcribed(s.status, s.says))
			o.holds(s.status+" in the detail", o.detail(), fields{"transcriptionStatus": s.shows, "transcribedText": s.text})
			row := o.row()
			o.holds(s.status+" in the row", row, fields{"transcriptionStatus": s.shows})
			o.is(s.status+" in the row", at(row, "transcript.text"), s.text)
		}
	}
}

// each proves several ways that begin anew.
func each(proofs ...func(*world)) func(*world) {
	return func(w *world) {
		w.t.Helper()
		for _, prove := range proofs {
			prove(w)
		}
	}
}

func textIsStored() func(*world) {
	return each(
		transcribes(transcriptStep{"queued", "", "processing", nil}, transcriptStep{"running", "", "processing", nil}, transcriptStep{"completed", "One.", "completed", "One."}),
		transcribes(transcriptStep{"completed", "", "completed", ""}),
		transcribes(transcriptStep{"running", "early", "processing", nil}, transcriptStep{"completed", "", "completed", ""}),
	)
}

// Both an event of the removal and the end of the transcript take the text away, for good and from everywhere.
func transcriptRemoved(w *world) {
	transcribes(transcriptStep{"completed", "One.", "completed", "One."}, transcriptStep{"removed", "", "unavailable", nil})(w)
	o := w.office()
	o.happen(o.transcribed("completed", "Sesame."))
	o.happen(o.gone(o.transcribed("completed", "Sesame.")))
	o.holds("the detail", o.detail(), fields{"transcriptionStatus": "unavailable", "transcribedText": nil})
	o.holds("the row", o.row(), fields{"transcriptionStatus": "unavailable", "transcript": nil})
	var stored int
	if err := w.pool.QueryRow(w.t.Context(), "select count(*) from projection.transcript_text where system_id = $1", o.system).Scan(&stored); err != nil || stored != 0 {
		w.t.Errorf("%d texts are still stored, %v", stored, err)
	}
}

func removalAdvances(o *office) []events.Event {
	return []events.Event{o.transcribed("completed", "One."), o.transcribed("removed", "")}
}

// Nothing leads on from a status but text.
func terminal(status, shows string) func(*world) {
	steps := []transcriptStep{{status, "", shows, nil}}
	for _, next := range []string{"queued", "running", "failed", "skipped"} {
		steps = append(steps, transcriptStep{next, "", shows, nil})
	}
	return transcribes(append(steps, transcriptStep{"completed", "At last.", "completed", "At last."})...)
}

func unavailableIsTerminal() func(*world) {
	removed := []transcriptStep{{"completed", "One.", "completed", "One."}, {"removed", "", "unavailable", nil}}
	for _, next := range []string{"queued", "running", "failed", "skipped"} {
		removed = append(removed, transcriptStep{next, "", "unavailable", nil})
	}
	return each(terminal("skipped", "unavailable"), transcribes(removed...))
}

func unavailableMeans() func(*world) {
	return each(
		transcribes(transcriptStep{"skipped", "", "unavailable", nil}),
		transcribes(transcriptStep{"completed", "One.", "completed", "One."}, transcriptStep{"removed", "", "unavailable", nil}),
		callRowOfNothing,
	)
}

func retranscribed() func(*world) {
	return transcribes(
		transcriptStep{"completed", "One.", "completed", "One."}, transcriptStep{"queued", "", "completed", "One."},
		transcriptStep{"running", "", "completed", "One."}, transcriptStep{"failed", "", "completed", "One."},
		transcriptStep{"skipped", "", "completed", "One."}, transcriptStep{"running", "half", "completed", "One."},
		transcriptStep{"completed", "Two.", "completed", "Two."},
	)
}

func voicemailTranscribed(w *world) {
	for _, steps := range [][]transcriptStep{
		{{"queued", "", "processing", nil}, {"running", "", "processing", nil}, {"completed", "One.", "completed", "One."}, {"failed", "", "completed", "One."}, {"removed", "", "unavailable", nil}},
		{{"failed", "", "failed", nil}, {"running", "", "failed", nil}, {"completed", "", "completed", ""}},
		{{"skipped", "", "unavailable", nil}},
	} {
		o, id := w.office(), uuid.New()
		path := o.path("/voicemails/" + id.String())
		o.happen(o.voicemail(id)[0])
		o.holds("never attempted", o.read(o.key, path), fields{"transcriptionStatus": "unavailable", "transcribedText": nil})
		for _, s := range steps {
			o.happen(o.voiced(id, s.status, s.says))
			o.holds(s.status, o.read(o.key, path), fields{"transcriptionStatus": s.shows, "transcribedText": s.text})
		}
		o.holds("the call", o.detail(), fields{"transcriptionStatus": "unavailable", "transcribedText": nil})
	}
}

// An inactive tag is one that publishers apply no more. A call that has it keeps it through every other change.
func tagStays(w *world) {
	o := w.office()
	tag := events.Tag{ID: uuid.New(), Name: "VIP", Group: "care", Color: "#111111", Source: "manual"}
	o.happen(o.edited(func(c *events.Call) { c.Tags = []events.Tag{tag} }))
	want := []fields{{"id": tag.ID, "name": "VIP", "group": "care", "color": "#111111", "source": "manual", "confidence": nil}}
	o.happen(o.edited(func(c *events.Call) { c.Outcome = events.Some("answered") }), o.assessed(), o.transcribed("completed", "One."), o.recorded("ready"))
	o.holds("the row", o.row(), fields{"tags": want, "outcome": "answered"})
}
