package sample

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// story is what happens to one leg after its end, one event after the other.
type story struct {
	*call
	*leg
	queue      *queue
	now        events.Time // of the next event
	recording  events.Recording
	transcript events.Transcript
	analysis   events.Analysis
}

// publishDelay is the time from the end of a call until it is published.
const publishDelay = 2 * second

// publishLeg schedules the events about a leg. A recording and a transcript are those of the voicemail, if there is
// one.
func publishLeg(q *queue, c *call, l *leg) {
	callID, voicemailID := events.Some(l.ID), events.Null[uuid.UUID]{}
	if l.voicemail != nil {
		callID, voicemailID = voicemailID, events.Some(l.voicemail.ID)
	}

	s := &story{
		call: c, leg: l, queue: q, now: c.at + publishDelay,
		transcript: events.Transcript{PhoneSystemID: c.id, CallID: callID, VoicemailID: voicemailID},
		recording: events.Recording{
			RecordingSid: c.sid("RE"), PhoneSystemID: c.id, CallID: callID, VoicemailID: voicemailID,
			CreatedAt: l.StartTime.Value,
		},
	}

	// Not every conversation is recorded, and only longer recordings are transcribed.
	recorded := l.voicemail != nil || l.turns != nil && s.chance(93)
	transcribed := recorded && l.talk > 8*second && s.chance(88)

	if transcribed {
		s.publishTranscript(events.TranscriptQueued)
	}

	if l.talk > 0 && s.chance(18) {
		s.addTag("rule")
	}
	s.publishCall()

	if l.voicemail != nil {
		l.voicemail.CreatedAt, l.voicemail.RecordingSid = l.EndTime.Value, s.recording.RecordingSid
		s.publishVoicemail()
	}

	if recorded {
		s.record()
	}
	if transcribed {
		s.transcribe()
	}

	s.edit(recorded)
}

func (s *story) wait(median events.Time) { s.now = min(s.now+s.around(median), s.latest) }

func (s *story) publish(e events.Event) { s.queue.add(s.now, e) }

// publishNext publishes the next version of a state. Later changes do not reach it.
func publishNext[T any, P interface {
	*T
	events.State
}](s *story, state P, version *int64) {
	*version++
	now := *state
	s.publish(events.Changed(P(&now)))
}

func (s *story) publishCall()      { publishNext(s, &s.Call, &s.Version) }
func (s *story) publishVoicemail() { publishNext(s, s.voicemail, &s.voicemail.Version) }

func (s *story) publishRecording(status string) {
	s.recording.Status = status
	publishNext(s, &s.recording, &s.recording.Version)
}

func (s *story) publishTranscript(status string) {
	s.transcript.Status = status
	publishNext(s, &s.transcript, &s.transcript.Version)
}

func (s *story) publishAnalysis(status string) {
	s.analysis.Status = status
	publishNext(s, &s.analysis, &s.analysis.Version)
}

// publishDeleted publishes the deletion of an entity in its last state.
func (s *story) publishDeleted(last events.State) {
	id := last.Identity()
	id.Version++
	s.publish(events.Deleted(id))
}

// record makes the audio available.
func (s *story) record() {
	if s.chance(60) {
		s.wait(second)
		s.publishRecording(events.RecordingProcessing)
	}

	// A few recordings of calls never become available.
	s.wait(15 * second)
	if s.voicemail == nil && s.chance(2) {
		s.publishRecording(events.RecordingUnavailable)
		return
	}

	s.recording.DurationSeconds = events.Some(int64(s.talk / second))
	s.recording.Audio = &events.Audio{Key: AudioKey, ContentType: "audio/wav", Bytes: audioBytes}
	s.publishRecording(events.RecordingReady)
}

// transcribe adds the text, and the analysis if it is a call's.
func (s *story) transcribe() {
	if s.chance(25) {
		s.wait(8 * second)
		s.publishTranscript(events.TranscriptRunning)
	}

	// Most transcripts succeed, a few fail or are skipped.
	s.wait(40 * second)
	switch s.weighted(940, 35, 25) {
	case 1:
		s.publishTranscript(events.TranscriptFailed)
		return
	case 2:
		s.publishTranscript(events.TranscriptSkipped)
		return
	}

	s.transcript.Text, s.transcript.Turns = events.Some(s.text), s.turns

	// Some transcripts are empty, some have no turns, and two colleagues are neither agent nor customer.
	switch {
	case s.chance(1):
		s.transcript.Text, s.transcript.Turns = events.Some(""), nil
	case s.chance(6):
		s.transcript.Turns = nil
	case s.Direction == "internal":
		for i := range s.turns {
			s.turns[i].Speaker = events.Speaker{Kind: "numbered", Ordinal: events.Some(int64(i%2 + 1))}
		}
	}

	s.publishTranscript(events.TranscriptCompleted)
	s.transcript.Text, s.transcript.Turns = events.Null[string]{}, nil // no later event repeats them

	if s.voicemail == nil && s.chance(92) {
		s.analyze()
	}
}

// analyze adds the analysis, and takes the outcome of the call over from it.
func (s *story) analyze() {
	s.analysis = events.Analysis{
		ID: s.uuid(), PhoneSystemID: s.id, CallID: s.ID, CallSid: s.CallSid, CreatedAt: s.now,
	}

	// The analysis takes a while, and sometimes fails.
	if s.chance(40) {
		s.publishAnalysis("processing")
	}
	s.wait(12 * second)
	if s.chance(3) {
		s.publishAnalysis("failed")
		return
	}

	// The scores suit the tone of the topic.
	a, low, high := &s.analysis, 55, 98
	if s.about.tone == "bad" {
		low, high = 25, 85
	}
	a.OverallScore, a.AnalyzedAt = events.Some(int64(s.between(low, high))), events.Some(s.now)
	a.Category = present(s.about.category)
	a.SentimentSource = events.Some("model")

	if s.chance(40) {
		a.ScorecardScore = events.Some(float64(s.between(2*low, 2*high)) / 2)
	}
	for range s.weighted(40, 30, 20, 10) {
		a.CoachingTips = append(a.CoachingTips, pick(s.random, s.lists["tip"]))
	}

	a.OverallSentiment = s.sentiment(overall)
	a.EmployeeSentiment, a.CustomerSentiment = s.sentiment(employee), s.sentiment(customer)

	// Usually the voice of the person is known.
	a.Representative = &events.RepresentativeRole{State: "unknown", Confidence: s.hundredths(5, 45)}
	switch {
	case s.chance(3):
		a.Representative = &events.RepresentativeRole{State: "not_analyzed"}
	case s.person.representative != nil && s.chance(92):
		a.Representative = &events.RepresentativeRole{
			State: "identified", ID: events.Some(s.person.representative.ID),
			Confidence: s.hundredths(70, 99), Source: events.Some("extension"),
		}
	}

	s.publishAnalysis(events.AnalysisCompleted)

	if s.about.outcome != "" && s.chance(70) {
		s.wait(second)
		s.setOutcome(s.about.outcome, "analysis")
	}
}

// sentiment is one that suits the topic's tone, with a score near the usual one.
func (s *story) sentiment(kind string) *events.Sentiment {
	var suitable []sentiment
	for _, one := range sentiments() {
		if one.kind == kind && strings.Contains(one.tones, s.about.tone) {
			suitable = append(suitable, one)
		}
	}
	chosen := pick(s.random, suitable)
	score := s.hundredths(max(chosen.score-15, -100), min(chosen.score+15, 100))
	return &events.Sentiment{Code: chosen.code, Score: score}
}

// setOutcome publishes the business outcome of the call, such as appointment_booked.
func (s *story) setOutcome(outcome, source string) {
	_, result, _ := strings.Cut(outcome, "_")
	s.CallOutcomeCode, s.OutcomeSource, s.IsEdited = present(outcome), events.Some(source), source == "manual"
	s.IsConverted = slices.Contains([]string{"booked", "placed", "accepted", "taken", "approved", "admitted"}, result)
	s.ConversionValue = events.Null[string]{}
	if s.IsConverted {
		s.ConversionValue = events.Some(strings.TrimPrefix(pick(s.random, s.lists["price"]), "£") + ".00")
	}
	s.publishCall()
}

// addTag adds a random tag unless the call has it. Published events keep their list.
func (s *story) addTag(source string) {
	tag := pick(s.random, s.tags)
	if slices.ContainsFunc(s.Tags, func(has events.Tag) bool { return has.ID == tag.ID }) {
		return
	}
	if tag.Source = source; source == "rule" {
		tag.Confidence = s.hundredths(55, 99)
	}
	s.Tags = append(slices.Clip(s.Tags), tag)
}

// edit does what people do hours later: they listen, edit, tag and delete.
func (s *story) edit(recorded bool) {
	if s.voicemail != nil && s.chance(60) {
		s.wait(hour)
		s.voicemail.Listened = true
		s.publishVoicemail()
	}

	// They correct what the analysis has found.
	if s.talk > 0 && s.chance(5) {
		s.wait(2 * hour)
		s.setOutcome(pick(s.random, s.topics["inbound"]).outcome, "manual")
	}

	if s.chance(4) {
		s.wait(3 * hour)
		s.Tags = nil
		s.addTag("manual")
		s.publishCall()
	}

	// They remove transcripts, voicemails, recordings and, rarely, whole calls.
	if s.transcript.Status == events.TranscriptCompleted && s.chance(2) {
		s.wait(10 * hour)
		s.publishTranscript(pick(s.random, []string{events.TranscriptRemoved, events.TranscriptQueued}))
	}

	if s.voicemail != nil && s.chance(20) {
		s.wait(5 * hour)
		s.voicemail.Archived = true
		s.publishVoicemail()
		if s.chance(30) {
			s.publishDeleted(s.voicemail)
			return
		}
	}

	if recorded && s.voicemail == nil && s.chance(1) {
		s.wait(20 * hour)
		s.publishDeleted(&s.recording)
	}

	if s.chance(1) {
		s.wait(20 * hour)
		s.publishDeleted(&s.Call)
	}
}
