package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	streamAPI      = "$JS.API.STREAM."
	snapshotChunk  = 128 << 10 // bytes of a message, unless the server accepts less
	snapshotWindow = 8 << 20   // bytes that the server sends before it waits for acknowledgements

	// maxSnapshotSilence is how long the server may take for an answer or the next chunk.
	maxSnapshotSilence = 30 * time.Second
	// maxRestoreAbort is how long the server may take to end a restore without its last chunks.
	maxRestoreAbort = 5 * time.Second
	// maxRestoreCompletion is how long the server may take to finish a restore after the last chunk.
	maxRestoreCompletion = 10 * time.Minute
)

// Snapshot is what the server needs beside the file to restore a stream. The file has the messages with their
// sequences and times, without consumers. The functions speak the server's protocol of snapshots, because the
// client library has no call for it.
type Snapshot struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

// SnapshotRange is which messages a snapshot has.
type SnapshotRange struct {
	Messages uint64    `json:"messages"`
	First    uint64    `json:"first_seq"`
	Last     uint64    `json:"last_seq"`
	LastAt   time.Time `json:"last_ts"`
}

// Range returns the messages of a snapshot.
func (s Snapshot) Range() (r SnapshotRange, err error) {
	return r, json.Unmarshal(s.State, &r)
}

// request sends a request as JSON and decodes the answer.
func requestJSON[T any](ctx context.Context, conn *nats.Conn, subject string, body any) (answer T, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}

	ctx, cancel := context.WithTimeout(ctx, maxSnapshotSilence)
	defer cancel()
	m, err := conn.RequestWithContext(ctx, subject, data)
	if err != nil {
		return answer, err
	}

	// The server answers a refused request with an error.
	if err := answerError(m.Data); err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(m.Data, &answer)
}

// answerError returns the error in an answer of the server. An empty answer has none.
func answerError(data []byte) error {
	if len(data) == 0 {
		return nil
	}

	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("answer: %w", err)
	}

	if answer.Error != nil {
		return answer.Error
	}
	return nil
}

type saveRequest struct {
	DeliverSubject string `json:"deliver_subject"`
	NoConsumers    bool   `json:"no_consumers"`
	ChunkSize      int    `json:"chunk_size"`
	WindowSize     int    `json:"window_size"`
}

// SaveSnapshot writes the stream's snapshot to w. Messages that are published meanwhile may not be in it.
func SaveSnapshot(ctx context.Context, conn *nats.Conn, name string, w io.Writer) (Snapshot, error) {
	s, err := saveSnapshot(ctx, conn, name, w)
	if err != nil {
		return s, fmt.Errorf("snapshot of stream %s: %w", name, err)
	}
	return s, nil
}

func saveSnapshot(ctx context.Context, conn *nats.Conn, name string, w io.Writer) (s Snapshot, err error) {
	// The server sends chunks as soon as it has the request, so the subscription comes first.
	inbox := conn.NewInbox()
	chunks, err := conn.SubscribeSync(inbox)
	if err != nil {
		return s, err
	}
	defer func() { _ = chunks.Unsubscribe() }()

	// A connection that breaks can lose chunks without an error.
	reconnects := conn.Stats().Reconnects
	s, err = requestJSON[Snapshot](ctx, conn, streamAPI+"SNAPSHOT."+name, saveRequest{
		DeliverSubject: inbox, NoConsumers: true, ChunkSize: chunkLimit(conn), WindowSize: snapshotWindow,
	})
	if err != nil {
		return s, err
	}

	if err := receiveChunks(ctx, chunks, w); err != nil {
		return s, err
	}
	if conn.Stats().Reconnects != reconnects {
		return s, errors.New("the connection broke: chunks can be missing")
	}
	return s, nil
}

// receive writes chunks until the empty message that ends a snapshot. The server sends on when a chunk is acknowledged.
func receiveChunks(ctx context.Context, chunks *nats.Subscription, w io.Writer) error {
	for {
		m, err := nextChunk(ctx, chunks)
		if err != nil {
			return err
		}

		if len(m.Data) == 0 {
			return snapshotEnd(m)
		}
		if _, err := w.Write(m.Data); err != nil {
			return err
		}

		// The acknowledgement lets the server send more chunks.
		if m.Reply == "" { // the last one
			continue
		}
		if err := m.Respond(nil); err != nil {
			return err
		}
	}
}

func nextChunk(ctx context.Context, chunks *nats.Subscription) (*nats.Msg, error) {
	silence, cancel := context.WithTimeout(ctx, maxSnapshotSilence)
	defer cancel()
	m, err := chunks.NextMsgWithContext(silence)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("no chunk for %s", maxSnapshotSilence)
	}
	return m, err
}

// ending returns the error of an ending that is not a success. A snapshot of one chunk ends without a status.
func snapshotEnd(m *nats.Msg) error {
	if status := m.Header.Get("Status"); status != "" && status != "204" {
		return fmt.Errorf("%s %s", status, strings.TrimSpace(m.Header.Get("Description")))
	}
	return nil
}

type restoreAnswer struct {
	DeliverSubject string `json:"deliver_subject"`
}

// RestoreSnapshot creates the stream from a snapshot. There must be none of its name. Until it is complete the
// stream takes no messages from publishers. An interrupted restore leaves an [UnfinishedRestore] stream.
func RestoreSnapshot(ctx context.Context, conn *nats.Conn, name string, s Snapshot, r io.Reader) error {
	if err := restoreSnapshot(ctx, conn, name, s, r); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	return nil
}

// UnfinishedRestore reports whether a stream was left by an interrupted restore, with a part of the messages.
func UnfinishedRestore(config jetstream.StreamConfig) bool {
	return slices.Equal(config.Subjects, []string{closedSubject(config.Name)})
}

// closedSubject is the subject of a stream while it is restored. Nobody publishes on it.
func closedSubject(name string) string { return "callboard.restore." + name }

func restoreSnapshot(ctx context.Context, conn *nats.Conn, name string, s Snapshot, r io.Reader) error {
	// No publisher can add messages during the restore, because the stream has a closed subject.
	closed, err := s.closed(name)
	if err != nil {
		return err
	}
	target, err := requestJSON[restoreAnswer](ctx, conn, streamAPI+"RESTORE."+name, closed)
	if err != nil {
		return err
	}

	if err := sendChunks(ctx, conn, target.DeliverSubject, r); err != nil {
		// An end instead of the missing chunks: otherwise the server waits for them, and refuses another restore meanwhile.
		_ = sendChunk(context.WithoutCancel(ctx), conn, target.DeliverSubject, nil, maxRestoreAbort)
		return err
	}

	// The stream gets its own subjects when it is complete.
	_, err = requestJSON[struct{}](ctx, conn, streamAPI+"UPDATE."+name, s.Config)
	return err
}

// closed returns the stream with its subject as it is while it is restored.
func (s Snapshot) closed(name string) (Snapshot, error) {
	return s.edited(map[string]any{"subjects": []string{closedSubject(name)}, "subject_transform": nil})
}

// WithReplicas returns the stream with another number of replicas.
func (s Snapshot) WithReplicas(count int) (Snapshot, error) {
	return s.edited(map[string]any{"num_replicas": count})
}

// edited changes members of the configuration, and keeps those that this program does not know.
func (s Snapshot) edited(changes map[string]any) (Snapshot, error) {
	var config map[string]any
	decoder := json.NewDecoder(bytes.NewReader(s.Config))
	decoder.UseNumber() // some are larger than a float64 holds
	if err := decoder.Decode(&config); err != nil {
		return s, fmt.Errorf("config: %w", err)
	}

	maps.Copy(config, changes)
	var err error
	if s.Config, err = json.Marshal(config); err != nil {
		return s, fmt.Errorf("config: %w", err)
	}
	return s, nil
}

// sendChunks sends all that r has, and returns when the server has stored it.
func sendChunks(ctx context.Context, conn *nats.Conn, subject string, r io.Reader) error {
	chunk := make([]byte, chunkLimit(conn))

	for {
		n, err := io.ReadFull(r, chunk)
		if errors.Is(err, io.EOF) {
			return sendChunk(ctx, conn, subject, nil, maxRestoreCompletion)
		}
		// The last chunk is usually shorter.
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}

		if err := sendChunk(ctx, conn, subject, chunk[:n], maxSnapshotSilence); err != nil {
			return err
		}
	}
}

// send sends a chunk, or nothing to end, and waits until the server has taken it.
func sendChunk(ctx context.Context, conn *nats.Conn, subject string, chunk []byte, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m, err := conn.RequestWithContext(ctx, subject, chunk)
	if err != nil {
		return err
	}
	return answerError(m.Data)
}

func chunkLimit(conn *nats.Conn) int { return int(min(snapshotChunk, conn.MaxPayload())) }
