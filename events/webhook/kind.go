package webhook

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what happened.
type Kind string

// The kinds. Those of artifacts say that the artifact can be fetched now.
const (
	CallEnded              Kind = "call.ended"
	RecordingAvailable     Kind = "call.recording.available"
	TranscriptionCompleted Kind = "call.transcription.completed"
	VoicemailCreated       Kind = "voicemail.created"
	AnalysisCompleted      Kind = "call.analysis.completed"

	// Test is what an operator sends to try an endpoint. Its data has no members. It is none of [Kinds].
	Test Kind = "callboard.test"
)

// Kinds returns the kinds that an endpoint can register for. Events of one message are sent in this order.
func Kinds() []Kind {
	return []Kind{CallEnded, RecordingAvailable, TranscriptionCompleted, VoicemailCreated, AnalysisCompleted}
}

// ParseKinds reads kinds separated by commas, or "all". It returns each once, in the order of [Kinds].
func ParseKinds(text string) ([]Kind, error) {
	if strings.TrimSpace(text) == "all" {
		return Kinds(), nil
	}

	named := make(map[Kind]bool)
	for name := range strings.SplitSeq(text, ",") {
		kind := Kind(strings.TrimSpace(name))
		if !slices.Contains(Kinds(), kind) {
			return nil, fmt.Errorf("%q is not a kind of event: use all, or some of %s", kind, names())
		}
		named[kind] = true
	}

	// Kinds gives the order, whatever the order in the text is.
	return slices.DeleteFunc(Kinds(), func(kind Kind) bool { return !named[kind] }), nil
}

func names() string {
	var list []string
	for _, kind := range Kinds() {
		list = append(list, string(kind))
	}
	return strings.Join(list, ", ")
}
