package sample

import "callboard/events"

func (l *leg) publishRecording(at events.Time, status string) events.Event {
	l.recording.Version++
	l.recording.Status = status
	state := l.recording
	return publish(events.Changed(&state), at)
}

func (l *leg) processRecording(at events.Time) events.Event {
	return l.publishRecording(at, events.RecordingProcessing)
}

// storeRecording makes the audio available: the clip whose length is nearest to the call's.
func (l *leg) storeRecording(at events.Time) events.Event {
	l.recording.DurationSeconds = events.Some(l.talk)
	c := nearestClip(int(l.talk))
	l.recording.Audio = &events.Audio{Key: c.key(), ContentType: "audio/wav", Bytes: int64(c.bytes())}
	return l.publishRecording(at, events.RecordingReady)
}

func (l *leg) loseRecording(at events.Time) events.Event {
	return l.publishRecording(at, events.RecordingUnavailable)
}

func (l *leg) deleteRecording(at events.Time) events.Event {
	l.recording.Version++
	return publish(events.Deleted(l.recording.Identity()), at)
}

func (l *leg) publishVoicemail(at events.Time) events.Event {
	l.voicemail.Version++
	state := l.voicemail
	return publish(events.Changed(&state), at)
}

func (l *leg) listen(at events.Time) events.Event {
	l.voicemail.Listened = true
	return l.publishVoicemail(at)
}

func (l *leg) archive(at events.Time) events.Event {
	l.voicemail.Archived = true
	return l.publishVoicemail(at)
}

func (l *leg) deleteVoicemail(at events.Time) events.Event {
	l.voicemail.Version++
	return publish(events.Deleted(l.voicemail.Identity()), at)
}
