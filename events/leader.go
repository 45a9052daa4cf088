package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// LastMessage returns the last message of a stream on the subjects of a filter. The error is
// [jetstream.ErrMsgNotFound] if there is none.
func LastMessage(ctx context.Context, js jetstream.JetStream, stream, filter string) (StoredMessage, error) {
	return askLeader(ctx, js, stream, messageRequest{LastFor: filter})
}

// NextMessage returns the first message of a stream on the subjects of a filter whose sequence is at least from.
// The error is [jetstream.ErrMsgNotFound] if there is none.
func NextMessage(
	ctx context.Context, js jetstream.JetStream, stream string, from uint64, filter string,
) (StoredMessage, error) {
	return askLeader(ctx, js, stream, messageRequest{Sequence: from, NextFor: filter})
}

// messageRequest is the body of a request for a message.
type messageRequest struct {
	Sequence uint64 `json:"seq,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
}

// leaderTimeout is how long the answer of a leader is waited for: NATS does not answer where the user may not ask.
const leaderTimeout = 5 * time.Second

// askLeader asks the leader of a stream for a message. [jetstream.Stream] asks on another subject if allow_direct
// is on: a replica can answer there, which lags, and the lists of deploy/nats.conf do not allow it.
func askLeader(
	ctx context.Context, js jetstream.JetStream, stream string, request messageRequest,
) (m StoredMessage, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return m, err
	}

	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	prefix := strings.TrimSuffix(cmp.Or(js.Options().APIPrefix, jetstream.DefaultAPIPrefix), ".")
	reply, err := js.Conn().RequestWithContext(ctx, prefix+".STREAM.MSG.GET."+stream, body)
	if err != nil {
		return m, err
	}

	// The server answers with a message or with an error.
	var answer struct {
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
			StoredAt time.Time `json:"time"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}

	switch err = json.Unmarshal(reply.Data, &answer); {
	case err != nil:
		return m, fmt.Errorf("answer of stream %s: %w", stream, err)
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return m, jetstream.ErrMsgNotFound
	case answer.Error != nil:
		return m, answer.Error

	case answer.Message.Sequence == 0:
		return m, errors.New("answer of stream " + stream + " without a message")
	}

	m.Subject, m.Data, m.Sequence, m.StoredAt = answer.Message.Subject, answer.Message.Data, answer.Message.Sequence, answer.Message.StoredAt
	if len(answer.Message.Header) > 0 {
		m.Header, err = nats.DecodeHeadersMsg(answer.Message.Header)
	}
	return m, err
}
