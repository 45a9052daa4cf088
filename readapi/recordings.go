package readapi

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/encode"
	"callboard/readapi/query"
)

// callRecording is the list's row and the detail.
func callRecording() *encode.Layout {
	return encode.NewLayout(
		encode.Text("recordingSid"),
		encode.Identifier("phoneSystemId"),
		encode.Identifier("callLogId"),
		encode.Text("callSid"),
		encode.Text("status"),
		encode.Integer("durationSeconds"),
		encode.Instant("createdAt"),
	)
}

func recordingStatusFilter() filter {
	return filter{"status", query.Status, oneOf("ready", "processing")}
}

// processingRetryAfter is sent with a recording that is being processed, in seconds.
const processingRetryAfter = 5

// recordingURL answers with a signed link to a recording's audio. A key's narrowing doesn't apply: it limits calls and
// analyses.
func recordingURL(p *query.Projection, store audio.Store) handler {
	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.prepare(ctx, out); err != nil {
			return err
		}

		found, err := p.GetRecordingAudio(ctx, q.system, q.id)
		switch {
		case err != nil:
			return err

		// The audio of a voicemail needs the scope of voicemails, too.
		case found.OfVoicemail && !q.auth.Allows(access.ScopeVoicemails):
			return &problem{code: insufficientScope}
		case !found.Ready:
			return &problem{code: recordingNotReady, retryAfter: processingRetryAfter}
		}

		link, err := store.Sign(ctx, audio.Object{Key: found.Key, ContentType: found.ContentType})
		if err != nil {
			return err
		}

		b := encode.String(append(out.body, `{"url":`...), link.URL)
		b = encode.Time(append(b, `,"expiresAt":"`...), link.Expires)
		out.body = append(b, `"}`...)
		out.completeThrough = found.CompleteThrough
		out.noStore = true
		return nil
	}
}

// audioPath is the path of the audio that the reader serves itself. It lies beside the base path's last segment, since
// audio is not an operation.
func audioPath(base string) string { return strings.TrimSuffix(base, "v1") + "audio/" }

// audioRoute serves the audio that signed links lead to.
func audioRoute(folder *audio.Folder, proxies access.Proxies) publicRoute {
	underWay := downloads{count: make(map[netip.Prefix]int)}

	return publicRoute{name: "audio", serve: func(w http.ResponseWriter, r *http.Request, _ *exchange) error {
		client := access.NetworkOf(proxies.Client(r.RemoteAddr, r.Header))
		if !underWay.begin(client) {
			return &problem{code: serviceUnavailable, retryAfter: unavailableRetryAfter, cause: errDownloads}
		}
		defer underWay.end(client)

		// Serve writes nothing if it returns an error, so a problem document can follow.
		path := r.URL.EscapedPath()
		err := folder.Serve(w, r, path[strings.LastIndexByte(path, '/')+1:])
		var refused *audio.ConditionError
		switch {
		case errors.Is(err, audio.ErrNotFound):
			return &problem{code: notFound}
		case errors.As(err, &refused) && refused.Status == http.StatusRequestedRangeNotSatisfiable:
			return &problem{code: rangeNotSatisfiable}
		case errors.As(err, &refused) && refused.Status == http.StatusPreconditionFailed:
			return &problem{code: preconditionFailed}
		}

		return err
	}}
}

// maxDownloads is how many downloads of audio one client may have under way: each of them holds a connection and an
// open file, and a link needs no key.
const maxDownloads = 64

var errDownloads = errors.New("too many downloads of audio by the client's network")

// downloads counts the downloads that are under way, by the client's network.
type downloads struct {
	mu    sync.Mutex
	count map[netip.Prefix]int
}

// begin reports whether the client may begin a download, which must be ended then.
func (d *downloads) begin(client netip.Prefix) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count[client] == maxDownloads {
		return false
	}
	d.count[client]++
	return true
}

func (d *downloads) end(client netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count[client]--; d.count[client] == 0 {
		delete(d.count, client)
	}
}
