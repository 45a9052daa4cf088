package events

import (
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// RetryHeader is the header of a dead letter that is published again. It names the message that became the dead
// letter: its sequence and when the stream stored it, in Unix milliseconds.
const RetryHeader = "Callboard-Retry-Of"

// FormatRetry returns the value of [RetryHeader] for a message.
func FormatRetry(sequence uint64, storedAt Time) string {
	return strconv.FormatUint(sequence, 10) + "/" + strconv.FormatInt(int64(storedAt), 10)
}

// ParseRetry returns the message that [RetryHeader] names; ok is false if it names none.
func ParseRetry(header nats.Header) (sequence uint64, storedAt Time, ok bool) {
	before, after, named := strings.Cut(header.Get(RetryHeader), "/")
	if !named {
		return 0, 0, false
	}

	sequence, err := strconv.ParseUint(before, 10, 63) // PostgreSQL's bigint
	if err != nil {
		return 0, 0, false
	}

	// FormatRetry writes each value in one form. Any other spelling is refused.
	milliseconds, err := strconv.ParseInt(after, 10, 64)
	storedAt = Time(milliseconds)
	if err != nil || FormatRetry(sequence, storedAt) != before+"/"+after {
		return 0, 0, false
	}

	return sequence, storedAt, true
}

// PublishedSubject returns the subject to which the message with a stored subject was published: the one without
// the partition. ok is false if the subject is none of the stream.
func PublishedSubject(stored string) (subject string, ok bool) {
	tokens := strings.Split(stored, ".")
	if len(tokens) != 4 || tokens[0] != subjectRoot {
		return "", false
	}
	return subjectRoot + "." + tokens[2] + "." + tokens[3], true
}
