package limit

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// permits are the messages of one permit from each of the buckets.
func permits(buckets []bucket) []*nats.Msg {
	var messages []*nats.Msg
	for _, b := range buckets {
		for range b.weight {
			messages = append(messages, nats.NewMsg(b.subject))
		}
	}
	return messages
}

// errFull is a bucket without a permit left.
var errFull = errors.New("full")

// storeFailed is the server's code for a message that a limit of the stream forbids.
const storeFailed jetstream.ErrorCode = 10077

// stored reads the stream's answer to permits. The error is [errFull], [nats.ErrNoResponders] where there is no stream, or what
// else kept the server from storing them.
func stored(m *nats.Msg) error {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return nats.ErrNoResponders
	}
	var reply struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	switch {
	case reply.Error == nil:
		return nil
	case reply.Error.ErrorCode == storeFailed:
		return errFull
	}
	return reply.Error
}
