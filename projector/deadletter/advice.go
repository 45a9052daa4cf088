package deadletter

import "strings"

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
	default:
		if l.Audit() {
			return adviceForAudit(l.Reason)
		}
		return adviceForEvent(l.Reason)
	}
}

const (
	publishAgain = "The publisher must correct the event and publish the entity again. A retry does not help: drop the dead letter afterwards."
	nextRelease  = "Retry the dead letter after the next upgrade."
)

func adviceForEvent(reason string) string {
	where, what, _ := strings.Cut(reason, ": ")
	switch {
	case reason == "skipped by an operator":
		return "The partition stopped at the message, and an operator skipped it. After the cause is corrected, a retry applies the event."
	case where == "/object":
		return adviceForObject(what)
	case strings.HasPrefix(reason, "PostgreSQL refused it"):
		return "PostgreSQL refused the rows of the event. The cause is a defect of this release, or a constraint that was added to a table. " + nextRelease
	case strings.HasPrefix(reason, "not JSON: "), strings.HasPrefix(what, "not JSON: "):
		return "The body is not valid JSON. " + publishAgain
	case strings.HasPrefix(what, "must be callboard."):
		return "This release does not know the event's type. If the type is wrong, the publisher must publish the entity again. " +
			"If the publisher is newer than this release, retry the dead letter after the upgrade."
	case where == "subject":
		return "The subject and the body contradict each other. " + publishAgain
	case strings.HasPrefix(where, "header"):
		return "The message's headers are not those of an event. " + publishAgain
	case strings.HasPrefix(reason, "callId or voicemailId differs"):
		return "The event moves a transcript, recording or analysis to another call or voicemail, which is not allowed. " + publishAgain
	case strings.HasPrefix(where, "/"), strings.HasPrefix(reason, "must be an object"):
		return "The body does not match the event's type. " + publishAgain
	}
	return "This release can't apply the event. " + nextRelease
}

// adviceForObject is about a transcript whose text is in the object store.
func adviceForObject(problem string) string {
	switch {
	case strings.HasPrefix(problem, "its entry could not be read in"):
		return "NATS was healthy, but did not give the transcript's text. If the text is in the object store, a retry applies the event."
	case strings.HasPrefix(problem, "its entry can't be read"), strings.HasPrefix(problem, "chunks of its entry are missing"):
		return "The transcript's text is not in the object store. After the publisher has stored it, a retry applies the event."
	case strings.HasPrefix(problem, "its entry has another"):
		return "The text in the object store differs from the one that the event announces. After the publisher has stored the right text, a retry applies the event."
	case strings.HasPrefix(problem, "its entry is not valid"):
		return "The transcript's text in the object store is not valid. " + publishAgain
	}
	return "The event's reference to the object store is not valid. " + publishAgain
}

// adviceForAudit is about audit entries. Readers do not keep entries that NATS has acknowledged, so they can't be
// sent again.
func adviceForAudit(reason string) string {
	const notRetryable = " A retry is not possible. Save the data, which is the only copy of these entries, then drop the dead letter."
	switch {
	case strings.Contains(reason, "its time is more than"):
		return "The clock of a reader is wrong, or the entry waited too long in its queue. Check the reader's clock." + notRetryable
	case strings.Contains(reason, "PostgreSQL refused it"):
		return "PostgreSQL refused the row of the entry. The cause is a defect of this release." + notRetryable
	}
	return "The message holds no audit entries that this release can decode. Another program publishes to the audit stream, or a reader has another release." + notRetryable
}
