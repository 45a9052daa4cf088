package deadletter

import "regexp"

// Advice explains a dead letter, and says who can correct the cause and whether a retry helps.
func Advice(l DeadLetter) string {
	switch l.State {
	case Applied:
		return "A retry applied the message. There is nothing to do."
	case Stale:
		return "A retry found a later state of the same entity. There is nothing to do."
	case Ignored:
		return "The event belongs to a deleted call. There is nothing to do."

	case Dropped:
		return "The dead letter was dropped and its data deleted. The publisher can publish the entity again."
	default: // the reason says what to do
	}

	// The first row that fits counts, so special reasons come before general reasons.
	table := adviceForEvents()
	if l.Audit() {
		table = adviceForAudit()
	}

	for _, row := range table {
		if regexp.MustCompile("^(?:" + row.reason + ")").MatchString(l.Reason) {
			return row.advice
		}
	}
	return "" // the last row of a table has any reason
}

// adviceRow is what is advised about reasons that begin with a pattern, unless an earlier row is about them.
type adviceRow struct{ reason, advice string }

func adviceForEvents() []adviceRow {
	const (
		publishAgain = "The publisher must correct the event and publish the entity again. A retry does not help: " +
			"drop the dead letter afterwards."
		nextRelease = "Retry the dead letter after the next upgrade."
	)
	return []adviceRow{
		{"skipped by an operator$", "The partition stopped at the message, and an operator skipped it. " +
			"After the cause is corrected, a retry applies the event."},

		// A transcript whose text is in the object store.
		{"/object: its entry could not be read in", "NATS was healthy, but did not give the transcript's text. " +
			"If the text is in the object store, a retry applies the event."},
		{"/object: (its entry can't be read|chunks of its entry are missing)", "The transcript's text is not in the " +
			"object store. After the publisher has stored it, a retry applies the event."},
		{"/object: its entry has another", "The text in the object store differs from the one that the event announces. " +
			"After the publisher has stored the right text, a retry applies the event."},
		{"/object: its entry is not valid", "The transcript's text in the object store is not valid. " + publishAgain},
		{"/object: ", "The event's reference to the object store is not valid. " + publishAgain},

		{"PostgreSQL refused it", "PostgreSQL refused the rows of the event. The cause is a defect of this release, or a " +
			"constraint that was added to a table. " + nextRelease},

		{"(.*?: )?not JSON: ", "The body is not valid JSON. " + publishAgain},
		{".*?: must be callboard\\.", "This release does not know the event's type. If the type is wrong, the publisher " +
			"must publish the entity again. If the publisher is newer than this release, " +
			"retry the dead letter after the upgrade."},
		{"subject: ", "The subject and the body contradict each other. " + publishAgain},
		{"header", "The message's headers are not those of an event. " + publishAgain},

		{"callId or voicemailId differs", "The event moves a transcript, recording or analysis to another call or " +
			"voicemail, which is not allowed. " + publishAgain},
		{"/|must be an object", "The body does not match the event's type. " + publishAgain},

		{"", "This release can't apply the event. " + nextRelease},
	}
}

// adviceForAudit is about audit entries. Readers do not keep entries that NATS has acknowledged, so they can't be
// sent again.
func adviceForAudit() []adviceRow {
	const notRetryable = " A retry is not possible. Save the data, which is the only copy of these entries, then drop " +
		"the dead letter."
	return []adviceRow{
		{".*its time is more than", "The clock of a reader is wrong, or the entry waited too long in its queue. Check the " +
			"reader's clock." + notRetryable},
		{".*PostgreSQL refused it", "PostgreSQL refused the row of the entry. The cause is a defect of this release." +
			notRetryable},
		{"", "The message holds no audit entries that this release can decode. Another program publishes to the audit " +
			"stream, or a reader has another release." + notRetryable},
	}
}
