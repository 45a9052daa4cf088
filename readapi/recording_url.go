package readapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/query"
)

// processingRetry is how long clients are asked to wait for audio that is being processed, in seconds.
const processingRetry = 5

// recordingURL answers with a link to a recording's audio. Narrowing concerns calls and their reports, so it isn't asked for.
func recordingURL(p *query.Projection, store audio.Store) answer {
	return func(ctx context.Context, q *request, out *reply) error {
		if err := q.parameters.problem(); err != nil {
			return err
		}
		found, err := p.GetRecordingAudio(ctx, q.system, q.resource)
		switch {
		case err != nil:
			return err
		case found.OfVoicemail && !q.permit.Allows(access.ScopeVoicemails):
			return &problem{code: insufficientScope}
		case !found.Ready:
			return &problem{code: recordingNotReady, retryAfter: processingRetry}
		}
		link, err := store.Sign(ctx, audio.Object{Key: found.Key, ContentType: found.ContentType})
		if err != nil {
			return err
		}
		out.body = appendLink(out.body, link)
		out.completeThrough = found.CompleteThrough
		out.unstored = true
		return nil
	}
}

func appendLink(b []byte, link audio.Link) []byte {
	b = append(b, `{"url":`...)
	b = appendString(b, link.URL)
	b = append(b, `,"expiresAt":"`...)
	b = appendTime(b, link.Expires)
	return append(b, `"}`...)
}

// audioPath is where links lead that the reader serves itself: beside the base path's last segment, since audio is no operation.
func audioPath(base string) string { return strings.TrimSuffix(base, "v1") + "audio/" }

// audioFiles serves what these links grant.
func audioFiles(folder *audio.Folder) resource {
	return resource{name: "audio", serve: func(w http.ResponseWriter, r *http.Request) error {
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
