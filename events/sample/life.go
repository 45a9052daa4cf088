package sample

import (
	"github.com/google/uuid"

	"callboard/events"
)

// life plans what becomes of a leg after its end. Delays count from there.
type life struct {
	*leg
	agenda   *agenda
	patience events.Time
	called   events.Time // when the call is published
	last     events.Time // when the last thing planned so far happens
}

// report is how long after its end a call is published.
const report = 2 * second

// live plans a leg's life. Everything of it is added in the order in which it happens, so where patience cuts delays to the same
// length the order stays.
func (l *leg) live(a *agenda, patience events.Time) {
	f := life{leg: l, agenda: a, patience: patience}
	message := l.voicemail.ID != uuid.Nil
	recorded := l.topic != nil && !message && l.sys.recorded && l.dice.chance(930)
	analyzed := recorded && l.talk >= 10 && l.dice.chance(880)
	early := analyzed && l.dice.chance(30)
	if !early {
		f.publish()
	}
	if message {
		f.keepMessage()
	}
	if recorded {
		f.record()
	}
	if analyzed {
		f.transcribe(early)
	}
	f.revise()
}

// at plans a step after a delay of so many milliseconds.
func (f *life) at(delay events.Time, do step) {
	f.agenda.add(f.end+min(delay, f.patience), f.leg, do)
	f.last = max(f.last, delay)
}

// around is a delay that is mostly near a median.
func (f *life) around(median events.Time) events.Time {
	return events.Time(f.dice.spread(int(median)))
}

// publish plans the call itself. It comes within the window in any case.
func (f *life) publish() {
	f.called = min(f.last+report, f.deadline-f.end)
	f.at(f.called, (*leg).reportCall)
}

func (f *life) record() {
	l := f.leg
	l.recording = events.Recording{
		RecordingSid: l.dice.sid("RE"), PhoneSystemID: l.sys.id, CallID: events.Some(l.call.ID), CreatedAt: l.answered,
	}
	if f.dice.chance(600) {
		f.at(3*second, (*leg).processRecording)
	}
	ready := 4*second + f.around(15*second)
	if f.dice.chance(20) {
		f.at(ready, (*leg).loseRecording)
		return
	}
	f.at(ready, (*leg).storeRecording)
}

// transcribe plans the transcript and, where it succeeds, the analysis; early is a call that is published after them.
func (f *life) transcribe(early bool) {
	l := f.leg
	l.transcript = events.Transcript{PhoneSystemID: l.sys.id, CallID: events.Some(l.call.ID)}
	done := f.attempt()
	switch f.dice.weighted(940, 35, 25) {
	case 0:
		f.at(done, (*leg).storeTranscript)
		f.analyze(done)
	case 1:
		f.at(done, (*leg).failTranscript)
	default:
		f.at(done, (*leg).skipTranscript)
	}
	if early {
		f.publish()
	}
	if l.topic.outcome != "" && f.dice.chance(700) {
		f.at(max(f.called, f.last)+second, (*leg).learnOutcome)
	}
	switch {
	case f.dice.chance(15):
		f.at(f.last+f.around(10*hour), (*leg).removeTranscript)
	case f.dice.chance(15):
		f.at(f.last+f.around(hour), (*leg).queueTranscript)
		f.at(f.last+f.around(minute), (*leg).failTranscript)
	}
}

// attempt plans what is heard of a transcription before its end, and is when that comes.
func (f *life) attempt() events.Time {
	queued := f.last + second
	if f.dice.chance(350) {
		f.at(queued, (*leg).queueTranscript)
	}
	running := queued + f.around(8*second)
	if f.dice.chance(250) {
		f.at(running, (*leg).runTranscript)
	}
	return running + f.around(40*second)
}

func (f *life) analyze(after events.Time) {
	l := f.leg
	if !f.dice.chance(920) {
		return
	}
	l.analysis = events.Analysis{
		ID: l.dice.uuid(), PhoneSystemID: l.sys.id, CallID: l.call.ID, CallSid: l.call.CallSid,
		CreatedAt: l.end + min(after, f.patience),
	}
	if f.dice.chance(250) {
		f.at(after+second, (*leg).awaitAnalysis)
	}
	begun := after + second + f.around(5*second)
	if f.dice.chance(200) {
		f.at(begun, (*leg).beginAnalysis)
	}
	done := begun + f.around(12*second)
	if f.dice.chance(25) {
		f.at(done, (*leg).failAnalysis)
		return
	}
	f.at(done, (*leg).completeAnalysis)
}

// keepMessage plans the voicemail with its recording and transcript, and what is done with it.
func (f *life) keepMessage() {
	l := f.leg
	owner := events.Some(l.voicemail.ID)
	l.voicemail.CallSid, l.voicemail.From, l.voicemail.FromName = l.call.CallSid, l.call.From, l.call.FromName
	l.voicemail.CreatedAt = l.end
	l.recording = events.Recording{
		RecordingSid: l.voicemail.RecordingSid, PhoneSystemID: l.sys.id, VoicemailID: owner, CreatedAt: l.answered,
	}
	l.transcript = events.Transcript{PhoneSystemID: l.sys.id, VoicemailID: owner}
	f.at(f.called+second, (*leg).publishVoicemail)
	if f.dice.chance(500) {
		f.at(f.last+second, (*leg).processRecording)
	}
	f.at(f.last+f.around(5*second), (*leg).storeRecording)
	if f.dice.chance(850) {
		f.at(f.attempt(), (*leg).storeTranscript)
	}
	if f.dice.chance(600) {
		f.at(f.last+f.around(hour), (*leg).listen)
	}
	if f.dice.chance(200) {
		f.at(f.last+f.around(5*hour), (*leg).archive)
	}
	if f.dice.chance(60) {
		f.at(f.last+f.around(12*hour), (*leg).deleteVoicemail)
	}
}

// revise plans what people do about a call later.
func (f *life) revise() {
	if f.answered != 0 && f.dice.chance(50) {
		f.at(max(f.called, f.last)+f.around(2*hour), (*leg).edit)
	}
	if f.dice.chance(40) {
		f.at(max(f.called, f.last)+f.around(3*hour), (*leg).applyTag)
	}
	if f.recording.CallID.Valid && f.dice.chance(5) {
		f.at(f.last+f.around(20*hour), (*leg).deleteRecording)
	}
	if f.dice.chance(8) {
		f.at(f.last+f.around(20*hour), (*leg).deleteCall)
	}
}
