package deadletter

import (
	"strings"

	"callboard/events/audit"
)

// Advice says what went wrong with a letter, who can mend it, and whether a retry helps.
func Advice(l Letter) string {
	switch l.State {
	case Applied:
		return "A retry applied it. There is nothing to do."
	case Stale:
		return "A retry found a later state of the same entity. There is nothing to do."
	case Ignored:
		return "A retry found nothing for it to change. There is nothing to do."
	case Dropped:
		return "It was dropped, and what was in it is gone. Its publisher can publish the entity again."
	default:
		if l.Stream == audit.StreamName {
			return adviseAudit(l.Reason)
		}
		return advise(l.Reason)
	}
}

const (
	publishAgain = "The publisher has to publish the entity again, mended. A retry doesn't help: drop the letter then."
	nextRelease  = "Retry it after the next upgrade."
)

func advise(reason string) string {
	where, what, _ := strings.Cut(reason, ": ")
	switch {
	case where == "/object":
		return adviseObject(what)
	case strings.HasPrefix(reason, "PostgreSQL refused it"):
		return "The event was read, but the tables don't take it. This is a fault of this release, or of a constraint that somebody added. " + nextRelease
	case strings.HasPrefix(reason, notJSON), strings.HasPrefix(what, notJSON):
		return "The body isn't JSON as it has to be. " + publishAgain
	case strings.HasPrefix(what, "must be callboard."):
		return "The publisher made a mistake in the event's type, or is ahead of this release. In the first case it has to publish the entity again; in the second, retry it after the upgrade."
	case where == "subject":
		return "Subject and body disagree, so neither can be believed. " + publishAgain
	case strings.HasPrefix(where, "header"):
		return "The message's headers aren't those of an event. " + publishAgain
	case strings.HasPrefix(reason, "callId or voicemailId differs"):
		return "The event moves a transcript, recording or analysis to another call or voicemail, which may never happen. " + publishAgain
	case strings.HasPrefix(where, "/"), strings.HasPrefix(reason, "must be an object"):
		return "The body isn't what its type says it is. " + publishAgain
	}
	return "This release can't apply the event. " + nextRelease
}

// adviseObject is about a transcript whose text travels in the object store.
func adviseObject(what string) string {
	switch {
	case strings.HasPrefix(what, "its entry can't be had"):
		return "The transcript's text wasn't in the object store. Once its publisher has put it there, a retry applies it."
	case strings.HasPrefix(what, "its entry has another"):
		return "The object store holds another text than the event announces. Once its publisher has put the right one there, a retry applies it."
	case strings.HasPrefix(what, "its entry is larger"):
		return "The transcript's text is larger than any may be. Its publisher has to publish a smaller one. A retry doesn't help: drop the letter then."
	case strings.HasPrefix(what, "its entry can't be read"):
		return "The transcript's text in the object store can't be read. " + publishAgain
	}
	return "The event names its text in the object store in a way that it can't. " + publishAgain
}

// adviseAudit is about requests that weren't filed. Their readers have forgotten them, so that nobody can send them again.
func adviseAudit(reason string) string {
	const kept = " No retry is possible: keep what is in the letter, which is all that is left of these requests, and drop it then."
	switch {
	case strings.Contains(reason, "its time is more than"):
		return "A reader's clock is wrong, or its entry waited for too long. The operator has to look at that reader's clock." + kept
	case strings.Contains(reason, "PostgreSQL refused it"):
		return "The entry was read, but the table doesn't take it, which is a fault of this release." + kept
	}
	return "The message holds no entries that this release reads: somebody else publishes to the audit's stream, or a reader is of another release." + kept
}
