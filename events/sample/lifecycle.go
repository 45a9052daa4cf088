package sample

import (
	"github.com/google/uuid"

	"callboard/events"
)

// lifecycle schedules what happens to a leg after its end. Delays count from there.
type lifecycle struct {
	*leg
	queue     *queue
	maxDelay  events.Time
	published events.Time // the delay of the call's first event
	last      events.Time // the longest delay scheduled so far
}

// publishDelay is the time from the end of a call until it is published.
const publishDelay = 2 * second

// schedule schedules all that happens to a leg. The actions are added in the order in which they happen, so that the order
// remains where maxDelay makes delays equal.
func (l *leg) schedule(q *queue, maxDelay events.Time) {
	c := lifecycle{leg: l, queue: q, maxDelay: maxDelay}
	message := l.voicemail.ID != uuid.Nil
	recorded := l.topic != nil && !message && l.sys.recorded && l.rng.chance(930)
	analyzed := recorded && l.duration >= 10 && l.rng.chance(880)
	callLast := analyzed && l.rng.chance(30) // the call is published after its analysis
	if analyzed {
		c.transcript = events.Transcript{PhoneSystemID: c.sys.id, CallID: events.Some(c.call.ID)}
	}
	if !callLast {
		c.addCall(analyzed)
	}
	if message {
		c.addVoicemail()
	}
	if recorded {
		c.addRecording()
	}
	if analyzed {
		c.addTranscript(callLast)
	}
	c.addEdits()
}

// at schedules an action.
func (c *lifecycle) at(delay events.Time, run action) {
	c.queue.add(c.end+min(delay, c.maxDelay), c.leg, run)
	c.last = max(c.last, delay)
}

// about is a random delay around a median.
func (c *lifecycle) about(median events.Time) events.Time {
	return events.Time(c.rng.logNormal(int(median)))
}

// addCall schedules the call's first event, within History in any case. If it will be transcribed, the transcript's first event, "queued",
// has the same time and comes before: nobody sees the call as one that is not transcribed.
func (c *lifecycle) addCall(transcribed bool) {
	c.published = min(c.last+publishDelay, c.deadline-c.end)
	if transcribed {
		c.at(c.published, transcriptStatus(events.TranscriptQueued))
	}
	c.at(c.published, (*leg).publishFirst)
}

func (c *lifecycle) addRecording() {
	c.recording = events.Recording{
		RecordingSid: c.rng.sid("RE"), PhoneSystemID: c.sys.id, CallID: events.Some(c.call.ID), CreatedAt: c.answered,
	}
	if c.rng.chance(600) {
		c.at(3*second, recordingStatus(events.RecordingProcessing))
	}
	ready := 4*second + c.about(15*second)
	if c.rng.chance(20) {
		c.at(ready, recordingStatus(events.RecordingUnavailable))
		return
	}
	c.at(ready, (*leg).storeRecording)
}

// addTranscript schedules the transcript, the analysis if it succeeds, and the call if that comes last.
func (c *lifecycle) addTranscript(callLast bool) {
	if callLast {
		c.at(c.last+second, transcriptStatus(events.TranscriptQueued))
	}
	done := c.addTranscription()
	switch c.rng.weighted(940, 35, 25) {
	case 0:
		c.at(done, (*leg).storeTranscript)
		c.addAnalysis(done)
	case 1:
		c.at(done, transcriptStatus(events.TranscriptFailed))
	default:
		c.at(done, transcriptStatus(events.TranscriptSkipped))
	}
	if callLast {
		c.addCall(false)
	}
	if c.topic.outcome != "" && c.rng.chance(700) {
		c.at(max(c.published, c.last)+second, (*leg).copyOutcome)
	}
	switch {
	case c.rng.chance(15):
		c.at(c.last+c.about(10*hour), (*leg).removeTranscript)
	case c.rng.chance(15):
		c.at(c.last+c.about(hour), transcriptStatus(events.TranscriptQueued))
		c.at(c.last+c.about(minute), transcriptStatus(events.TranscriptFailed))
	}
}

// addTranscription schedules what happens between "queued" and a complete transcript. It returns the delay until then.
func (c *lifecycle) addTranscription() events.Time {
	running := c.last + second + c.about(8*second)
	if c.rng.chance(250) {
		c.at(running, transcriptStatus(events.TranscriptRunning))
	}
	return running + c.about(40*second)
}

func (c *lifecycle) addAnalysis(after events.Time) {
	if !c.rng.chance(920) {
		return
	}
	c.analysis = events.Analysis{
		ID: c.rng.uuid(), PhoneSystemID: c.sys.id, CallID: c.call.ID, CallSid: c.call.CallSid,
		CreatedAt: c.end + min(after, c.maxDelay),
	}
	if c.rng.chance(250) {
		c.at(after+second, analysisStatus("pending"))
	}
	processing := after + second + c.about(5*second)
	if c.rng.chance(200) {
		c.at(processing, analysisStatus("processing"))
	}
	done := processing + c.about(12*second)
	if c.rng.chance(25) {
		c.at(done, analysisStatus("failed"))
		return
	}
	c.at(done, (*leg).completeAnalysis)
}

// addVoicemail schedules the voicemail with its recording and transcript, and what people do with it.
func (c *lifecycle) addVoicemail() {
	v := &c.voicemail
	v.CallSid, v.From, v.FromName, v.CreatedAt = c.call.CallSid, c.call.From, c.call.FromName, c.end
	c.recording = events.Recording{
		RecordingSid: v.RecordingSid, PhoneSystemID: c.sys.id, VoicemailID: events.Some(v.ID), CreatedAt: c.answered,
	}
	c.transcript = events.Transcript{PhoneSystemID: c.sys.id, VoicemailID: events.Some(v.ID)}
	transcribed := c.rng.chance(850)
	if transcribed {
		c.at(c.published+second, transcriptStatus(events.TranscriptQueued))
	}
	c.at(c.published+second, (*leg).publishVoicemail)
	if c.rng.chance(500) {
		c.at(c.last+second, recordingStatus(events.RecordingProcessing))
	}
	c.at(c.last+c.about(5*second), (*leg).storeRecording)
	if transcribed {
		c.at(c.addTranscription(), (*leg).storeTranscript)
	}
	if c.rng.chance(600) {
		c.at(c.last+c.about(hour), (*leg).listen)
	}
	if c.rng.chance(200) {
		c.at(c.last+c.about(5*hour), (*leg).archive)
	}
	if c.rng.chance(60) {
		c.at(c.last+c.about(12*hour), (*leg).deleteVoicemail)
	}
}

// addEdits schedules what people change later.
func (c *lifecycle) addEdits() {
	if c.answered != 0 && c.rng.chance(50) {
		c.at(max(c.published, c.last)+c.about(2*hour), (*leg).editOutcome)
	}
	if c.rng.chance(40) {
		c.at(max(c.published, c.last)+c.about(3*hour), (*leg).changeTags)
	}
	if c.recording.CallID.Valid && c.rng.chance(5) {
		c.at(c.last+c.about(20*hour), (*leg).deleteRecording)
	}
	if c.rng.chance(8) {
		c.at(c.last+c.about(20*hour), (*leg).deleteCall)
	}
}
