package scenario_test

// stateSections are the rules of "States and transitions".
func stateSections() []section {
	return []section{
		{"Transcription status", []rule{
			{name: "processing becomes completed when text is stored", prove: textIsStored()},
			{name: "completed becomes unavailable when the transcript is removed, and no text is returned", prove: transcriptRemoved},
			{name: "a removal advances a report row's updatedAt", prove: advances(removalAdvances)},
			{name: "call.transcription.completed is delivered when text is stored", absent: "the webhook channel"},
			{name: "failed is terminal", prove: terminal("failed", "failed")},
			{name: "unavailable is terminal", prove: unavailableIsTerminal()},
			{name: "unavailable means never attempted, skipped or removed", prove: unavailableMeans()},
			{name: "a queued, running or failed re-transcription over stored text leaves completed", prove: retranscribed()},
			{name: "a voicemail has the same statuses", prove: voicemailTranscribed},
			{name: "call log detail and report row agree", prove: each(textIsStored(), unavailableIsTerminal(), retranscribed())},
		}},
		{"Recording status", []rule{
			{name: "processing becomes ready when the audio has landed, and the signed URL then succeeds", prove: audioLands},
			{name: "call.recording.available is delivered when the audio has landed", absent: "the webhook channel"},
			{name: "while processing, the signed URL answers 409 RECORDING_NOT_READY", prove: notReadyYet},
		}},
		{"Call analysis status", []rule{
			{name: "overallScore and analyzedAt are null until completed", prove: analysisSteps(resultsOnceCompleted)},
		}},
		{"Tags", []rule{
			{name: "a tag still carried by a retained call cannot be deleted", theirs: "tags are the platform's; a call keeps the tags it was published with"},
			{name: "an inactive tag is not applied to new calls and its name stays reserved", theirs: "tags are the platform's; a call is served with those it was published with"},
			{name: "an inactive tag stays on existing calls", prove: tagStays},
		}},
		{"API key lifecycle", []rule{
			{name: "keys are issued, rolled, revoked and expired by the operator, never through this API", prove: keysAreTheOperators},
			{name: "rolling gives the old key a short overlap before it expires", prove: rolledWithOverlap},
			{name: "revocation is immediate", prove: revocationIsImmediate},
			{name: "expired and revoked keys fail with 401", prove: expiredAndRevoked},
		}},
	}
}
